"""`rankloop score`: scores from a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.output import print_json


def score(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    data: o.Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write; - for standard output.")
    ] = Path("-"),
    run: Annotated[bool, typer.Option("--run", help="Write a TREC run instead.")] = False,
    format: o.Format = None,
    skip_bad_rows: o.SkipBadRows = False,
    json: o.Json = False,
) -> None:
    """Score data with a model: one score a line, in row order."""
    from rankloop.data.io.formats import read
    from rankloop.data.io.scores import write_scores
    from rankloop.data.io.trec import write_run
    from rankloop.data.io.trec_join import run_from_scores
    from rankloop.learners.saving import load

    ranker = load(model)
    options = o.letor_options(skip_bad_rows, ranker.n_features_in_)
    queries = read(*data, format=format, **options)
    scores = ranker.predict(queries)
    if json:
        print_json([float(value) for value in queries.in_row_order(scores)])
    elif run:
        write_run(run_from_scores(queries, scores), output)
    else:
        write_scores(output, queries.in_row_order(scores))
