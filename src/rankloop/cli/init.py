"""`rankloop init`: look at data, and write a configuration that says how to read it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups


@takes_groups
def init(
    source: DataSource,
    output: Annotated[Path, typer.Option("--output", "-o", help="Configuration to write.")] = Path(
        "rankloop.toml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    items: Annotated[
        Path | None,
        typer.Option("--items", help="Catalogue: Parquet, CSV or JSON lines, with ids."),
    ] = None,
    events: Annotated[
        list[str], typer.Option("--events", help="Log of rankings and events, as JSON lines.")
    ] = [],
    item_id: Annotated[
        str | None, typer.Option("--item-id", help="Column of the ids; default: id, item_id ...")
    ] = None,
    loop: Annotated[str, typer.Option("--loop", help="Name of the loop.")] = "shop",
    metarank: Annotated[
        Path | None,
        typer.Option("--metarank", help="Configuration of Metarank to translate: YAML or JSON."),
    ] = None,
) -> None:
    """Look at data and write a configuration with comments, for `--config` of other commands.

    With --items and --events, or --metarank: definitions of live features, for `serve` and
    `features`.
    """
    if output.exists() and not force:
        raise typer.BadParameter(f"{output} exists already; give --force to replace it")
    if metarank is not None:
        _translate(output, metarank)
        return
    if items is not None or events:
        if source.data:
            raise typer.BadParameter("give DATA, or --items and --events, not both")
        _write_definitions(output, items, events, item_id, loop)
        return
    from rankloop.data.configuration import describe, write

    options = {name: value for name, value in source.options.items() if name != "notice"}
    description = describe(source.places, options)
    write(description, output)
    typer.echo(f"{output}: {description.summary}")
    typer.echo(f"Next: rankloop train --config {output} -o model.rlm")


def _write_definitions(
    output: Path, items: Path | None, events: list[str], item_id: str | None, loop: str
) -> None:
    from rankloop.data.io.replacing import replace_when_done
    from rankloop.feedback.first_definitions import propose_definitions

    first = propose_definitions(items, events, item_id)
    with replace_when_done(output) as partial:
        partial.write_text(first.to_toml(loop), encoding="utf-8")
    typer.echo(
        f"{output}: {len(first.fields['item'])} fields of items, {len(first.features)} features"
    )
    for note in first.notes[2:]:
        typer.echo(f"  {note}")
    typer.echo(f"Next: rankloop serve {output} --check")


def _translate(output: Path, metarank: Path) -> None:
    from rankloop.data.io.replacing import replace_when_done
    from rankloop.feedback.metarank_settings import translate_metarank

    loops = translate_metarank(metarank)
    with replace_when_done(output) as partial:
        text = "\n".join(first.to_toml(name) for name, first in loops.items())
        partial.write_text(text, encoding="utf-8")
    for name, first in loops.items():
        typer.echo(f"{output}: loop {name} with {len(first.features)} features")
        for note in first.notes[1:]:
            typer.echo(f"  {note}")
    typer.echo(f"Next: rankloop serve {output} --check")
