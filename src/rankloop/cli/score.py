"""`rankloop score`: scores from a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import json_text


@takes_groups
def score(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    source: DataSource,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File to write; - for standard output.",
            callback=o.check_with(o.check_folder),
        ),
    ] = Path("-"),
    run: Annotated[bool, typer.Option("--run", help="Write a TREC run instead.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write JSON instead.")] = False,
) -> None:
    """Score data with a model: one score per line, in row order. No grades are needed."""
    from rankloop.data.io.files import open_output
    from rankloop.data.io.scores import write_scores
    from rankloop.data.io.trec import write_run
    from rankloop.data.io.trec_join import run_from_scores
    from rankloop.rankers.model_files.saving import load
    from rankloop.rankers.training import read_like

    if run and json:
        raise typer.BadParameter("give either --run or --json, not both")
    ranker = load(model)
    queries = source.read(labelled=False, **read_like(ranker))
    scores = ranker.predict(queries)
    if json:
        values = [float(value) for value in queries.in_row_order(scores)]
        with open_output(output) as out:
            out.write(json_text(values).encode())
    elif run:
        write_run(run_from_scores(queries, scores), output)
    else:
        write_scores(output, queries.in_row_order(scores))
