"""`rankloop convert`: from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.output import print_json, progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankloop.data.dataset import QueryDataset


def convert(
    source: Annotated[Path, typer.Argument(help="File to read; - for standard input.")],
    target: Annotated[Path, typer.Argument(help="File to write; - for standard output.")],
    format: o.Format = None,
    to: Annotated[
        str | None, typer.Option("--to", help="letor, parquet, arrow or qrels; else by suffix.")
    ] = None,
    gather: Annotated[
        bool,
        typer.Option("--gather", help="Bring the rows of each query together (reads all at once)."),
    ] = False,
    sparse: Annotated[bool, typer.Option("--sparse", help="Text: leave zeros out.")] = False,
    layout: Annotated[str, typer.Option("--layout", help="Tables: wide or list.")] = "wide",
    skip_bad_rows: o.SkipBadRows = False,
    n_features: o.NFeatures = None,
    null: o.Null = 0.0,
    json: o.Json = False,
) -> None:
    """Convert between LETOR text, Parquet, Arrow and qrels, in bounded memory."""
    from rankloop.data.io import formats
    from rankloop.data.words import count

    options = o.letor_options(skip_bad_rows, n_features, null)
    known = to or formats.format_for(target)
    writing = {"letor": {"sparse": sparse}, "qrels": {}}.get(known, {"layout": layout})
    counted = {"queries": 0, "documents": 0, "features": 0}
    with progress_bar(f"{source} -> {target}") as progress:
        if gather:
            batches: Iterable[QueryDataset] = [
                formats.read(source, format=format, **options).select(slice(None))
            ]
        else:
            batches = formats.read_batches(source, format=format, progress=progress, **options)
        formats.write_batches(_counting(batches, counted), target, format=known, **writing)
    if json:
        print_json({"source": str(source), "target": str(target), "format": known, **counted})
    else:
        words = {"queries": "query", "documents": "document", "features": "feature"}
        shown = ", ".join(count(n, words[what], what) for what, n in counted.items())
        typer.echo(f"{target}: {shown}", err=str(target) == "-")


def _counting(batches: Iterable[QueryDataset], counted: dict[str, int]) -> Iterator[QueryDataset]:
    for batch in batches:
        counted["queries"] += batch.n_queries
        counted["documents"] += batch.n_documents
        counted["features"] = max(counted["features"], batch.n_features)
        yield batch
