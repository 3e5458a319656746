"""`rankloop convert`: from one format to another."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.progress import progress_bar
from rankloop.cli.tables import print_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankloop.data.dataset import QueryDataset


@takes_groups
def convert(
    source: DataSource,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="letor, parquet, arrow, csv, tsv, qrels or rlds; by default, the suffix of the "
            "output decides.",
            callback=o.check_with(o.check_format),
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="File to write, if it is not the last of DATA."),
    ] = None,
    gather: Annotated[
        bool,
        typer.Option(
            "--gather",
            help="Bring the rows of each query together; this reads all data into memory.",
        ),
    ] = False,
    layout: Annotated[
        str | None, typer.Option("--layout", help="Tables: wide (the default) or list.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Convert data to another format in bounded memory; the last argument, or -o, is the output.

    With --sparse, text is also written without zeros, and a mapped file (rlds) has sparse rows.
    """
    from rankloop._utils.argument_names import named_by
    from rankloop._utils.messages import count
    from rankloop.data.io import formats
    from rankloop.data.io.format_names import decide_format, format_for
    from rankloop.data.io.locations import data_files

    *places, target = source.places if output is None else [*source.places, output]
    if not places:
        raise typer.BadParameter("Missing argument: give the files to read and the file to write")
    with named_by(lambda name, value: o.name_option("to" if name == "format" else name, value)):
        known = to or format_for(target)
    if source.sparse and known not in ("letor", "rlds"):
        raise typer.BadParameter(f"--sparse is for LETOR text and mapped files, not for {known}")
    if layout is not None and known not in ("parquet", "arrow"):
        raise typer.BadParameter(f"--layout is for Parquet and Arrow, not for {known}")
    writing: dict[str, dict[str, object]] = {
        "letor": {"sparse": source.sparse},
        "qrels": {},
        "rlds": {},
    }
    how = writing.get(known, {"layout": layout or "wide"})
    counted = {"queries": 0, "documents": 0, "features": 0}
    files = [file for place in places for file in data_files(place)]
    is_text = {path: decide_format(path, source.format) == "letor" for path in files}
    with progress_bar(f"{places[0]} -> {target}") as progress:
        if gather or (len(files) > 1 and known != "rlds"):
            sparse = source.sparse and all(is_text.values())
            batches: Iterable[QueryDataset] = [
                source.read(*files, sparse=sparse).select(slice(None))
            ]
        else:
            batches = chain.from_iterable(
                source.batches(path, progress=progress, sparse=source.sparse and is_text[path])
                for path in files
            )
        formats.write_batches(_counting(batches, counted), target, format=known, **how)
    if json:
        print_json({"source": ",".join(places), "target": target, "format": known, **counted})
    else:
        words = {"queries": "query", "documents": "document", "features": "feature"}
        shown = ", ".join(count(n, words[what], what) for what, n in counted.items())
        typer.echo(f"{target}: {shown}", err=target == "-")


def _counting(batches: Iterable[QueryDataset], counted: dict[str, int]) -> Iterator[QueryDataset]:
    for batch in batches:
        counted["queries"] += batch.n_queries
        counted["documents"] += batch.n_documents
        counted["features"] = max(counted["features"], batch.n_features)
        yield batch
