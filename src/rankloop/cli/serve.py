"""`rankloop serve`: the live loop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    config: Annotated[Path | None, typer.Argument(help="Settings; `--init` writes them.")] = None,
    learner: Annotated[
        list[str],
        typer.Option("--learner", "-l", help="Learners; the first is the champion."),
    ] = ["auto"],
    features: Annotated[
        str | None,
        typer.Option("--features", help="How many features, or their names: price,match."),
    ] = None,
    loop: Annotated[str, typer.Option("--loop", help="The loop's name.")] = "loop",
    journal: Annotated[
        str | None, typer.Option("--journal", help="A file, or postgresql://...")
    ] = None,
    port: Annotated[int, typer.Option("--port", help="Where to listen.", min=0)] = 8080,
    init: Annotated[
        bool, typer.Option("--init", help="Write settings to CONFIG, to be edited, and end.")
    ] = False,
    new_token: Annotated[
        bool, typer.Option("--new-token", help="Print a new token and its hash, and end.")
    ] = False,
    new_key: Annotated[
        bool,
        typer.Option("--new-key", help="Print a new key, to seal fields or sign tickets, and end."),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the settings and end; nothing is started.")
    ] = False,
) -> None:
    """Rank, journal, observe and learn, behind HTTP, until stopped.

    Settings come from CONFIG, or for a first look from the options.
    """
    from rankloop.serving.starting import chosen_settings, needs_extra, write_settings

    needs_extra()
    if new_token:
        from rankloop.serving.security import new_token as make

        typer.echo("token  {}\nsha256 {}".format(*make()))
        return
    if new_key:
        from rankloop.serving.keyring import new_key as make_key

        typer.echo(make_key())
        return
    if init:
        typer.echo(write_settings(config, loop, features, learner))
        return
    settings = chosen_settings(config, loop, features, learner, journal, port)
    if check:
        settings.master_keys()
        settings.signing_keys()
        typer.echo(f"the settings are right: {', '.join(settings.loops)}")
        return
    from rankloop.serving.server import serve as run

    run(settings, lambda address: typer.echo(f"ready at {address}"))
