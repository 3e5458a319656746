"""`rankloop serve`: the live loop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    config: Annotated[Path | None, typer.Argument(help="Settings file; see --init.")] = None,
    ranker: Annotated[
        list[str],
        typer.Option(
            "--ranker",
            "-r",
            help="Rankers; the first is the champion.",
            show_default="auto",
        ),
    ] = [],
    features: Annotated[
        str | None,
        typer.Option("--features", help="Number of features, or their names: price,match."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            help="Model file that ranks from the start, as `rankloop train` writes it; the rankers "
            "learn beside it.",
        ),
    ] = None,
    loop: Annotated[
        str | None, typer.Option("--loop", help="Name of the loop.", show_default="loop")
    ] = None,
    journal: Annotated[
        str | None, typer.Option("--journal", help="A file, or postgresql://...")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", help="Port to listen on.", min=0, max=65535, show_default="8080"),
    ] = None,
    init: Annotated[
        bool, typer.Option("--init", help="Write settings to CONFIG for editing, and exit.")
    ] = False,
    new_token: Annotated[
        bool, typer.Option("--new-token", help="Print a new token and its hash, and exit.")
    ] = False,
    new_key: Annotated[
        bool,
        typer.Option(
            "--new-key",
            help="Print a new key for encrypting personal fields or signing tickets, and exit.",
        ),
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Check the settings and exit.")] = False,
) -> None:
    """Start the service: rank, record, observe and learn over HTTP, until stopped.

    Settings come from the file CONFIG or, for a first try, from the options. Options take
    precedence over the file.
    """
    from rankloop.serving.settings.options import ServeOptions, choose_settings, write_settings

    if new_token:
        from rankloop.serving.security.guard import new_token as make

        typer.echo("token  {}\nsha256 {}".format(*make()))
        return
    if new_key:
        from rankloop.serving.settings.keyring import new_key as make_key

        typer.echo(make_key())
        return
    options = ServeOptions(loop, features, ranker, journal, port, model)
    if init:
        typer.echo(write_settings(config, options))
        return
    settings = choose_settings(config, options)
    if check:
        from rankloop.serving.learning.model_file import check_models

        settings.master_keys()
        settings.signing_keys()
        check_models(settings)
        typer.echo(f"the settings are valid: {', '.join(settings.loops)}")
        return
    from rankloop.serving.server import serve as run

    run(settings, lambda address: typer.echo(f"ready at {address}"))
