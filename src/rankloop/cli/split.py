"""`rankloop split`: one data set into training, validation and test data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import print_json

NAMES = {2: ("train", "test"), 3: ("train", "vali", "test")}
"""How the parts of a split are called, by their number."""


@takes_groups
def split(
    source: DataSource,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Folder for train, vali and test.",
            callback=o.check_with(o.check_output_folder),
        ),
    ],
    fractions: Annotated[
        str,
        typer.Option(
            "--fractions", help="Shares of the queries: train, vali and test, or train and test."
        ),
    ] = "0.6,0.2,0.2",
    in_order: Annotated[
        bool,
        typer.Option(
            "--in-order",
            help="Do not shuffle: the first queries are for training, the last ones for the test "
            "(for data in order of time).",
        ),
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="letor, parquet, arrow, csv, tsv or rlds; by default, that of the first file.",
            callback=o.check_with(o.check_format),
        ),
    ] = None,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Split queries at random into training, validation and test data; no query is divided."""
    import numpy as np

    from rankloop.data.io.format_names import format_for
    from rankloop.data.io.formats import write_batches
    from rankloop.data.splits import random_split, split_in_order

    try:
        shares = [float(text) for text in fractions.split(",")]
        names = NAMES[len(shares)]
    except (ValueError, KeyError):
        raise typer.BadParameter(
            f"--fractions must be two or three numbers such as 0.8,0.2; found {fractions!r}"
        ) from None
    known = to or format_for(source.places[0])
    known = "parquet" if known == "jsonl" else known
    data = source.read()
    parts = (
        split_in_order(data, shares)
        if in_order
        else random_split(data, shares, rng=np.random.default_rng(seed))
    )
    output.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, part in zip(names, parts, strict=True):
        file = output / f"{name}.{'txt' if known == 'letor' else known}"
        write_batches([part], file, format=known)
        written[str(file)] = part
    if json:
        print_json({name: {"queries": len(part)} for name, part in written.items()})
    else:
        for name, part in written.items():
            typer.echo(f"{name}: {part}")
