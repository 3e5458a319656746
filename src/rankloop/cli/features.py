"""`rankloop features`: the features of a log of events, as they were at each moment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.tables import print_json


def features(
    events: Annotated[
        list[str],
        typer.Argument(
            help="JSON lines: events of Metarank's clients, UBI's queries and events, or our own; "
            "they may be compressed."
        ),
    ],
    config: Annotated[
        Path,
        typer.Option("--config", "-c", help="Settings with the loop's fields and features."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File to write; its suffix determines the format, such as .parquet.",
            callback=o.check_with(o.check_folder),
        ),
    ],
    loop: Annotated[
        str | None,
        typer.Option("--loop", help="Name of the loop, if the settings have several."),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option("--items", help="Catalogue: Parquet, CSV or JSON lines, with a column id."),
    ] = None,
    item_id: Annotated[
        str | None, typer.Option("--item-id", help="Column of the ids; default: id, item_id ...")
    ] = None,
    unit: Annotated[
        str,
        typer.Option(
            "--unit", help="Unit of times that are numbers: s, ms, or guess, by their size."
        ),
    ] = "guess",
    json: o.Json = False,
) -> None:
    """Compute the features of a log as they were at each moment, and write them as a data set."""
    from rankloop.data.io.formats import write_batches
    from rankloop.feedback.compute_features import compute_features, read_definitions

    if unit not in ("guess", "s", "ms"):
        raise typer.BadParameter(f"--unit must be guess, s or ms; found {unit!r}")
    notes: list[str] = []
    data = compute_features(
        *events,
        **read_definitions(config, loop),
        items=items,
        item_id=item_id,
        unit=unit,  # type: ignore[arg-type] # one of the words above
        notice=notes.append,
    )
    write_batches([data], output)
    if json:
        print_json(
            {
                "file": str(output),
                "queries": data.n_queries,
                "documents": data.n_documents,
                "features": data.n_features,
                "notes": notes,
            }
        )
        return
    typer.echo(f"{output}: {data}")
    for note in notes:
        typer.echo(f"  {note}")
