"""`rankloop train`: a model in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.output import print_json, print_table, rounds_progress


def train(
    data: o.Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    learner: Annotated[
        str, typer.Option("--learner", "-l", help="As auto or solar-ii:gamma=1000.")
    ] = "auto",
    scale: o.Scale = None,
    resume: Annotated[
        Path | None, typer.Option("--from", help="Go on learning from this model instead.")
    ] = None,
    hold: Annotated[
        float,
        typer.Option("--hold", help="With --from: how strongly to hold to it, above 0 to 1."),
    ] = 1.0,
    valid: Annotated[
        Path | None,
        typer.Option(
            "--valid", help="Measure the model on this data; batch learners stop early by it."
        ),
    ] = None,
    metric: o.Metrics = ["nDCG@10"],
    convention: o.Conventions = ["standard"],
    format: o.Format = None,
    skip_bad_rows: o.SkipBadRows = False,
    n_features: o.NFeatures = None,
    json: o.Json = False,
) -> None:
    """Train a learner and write it to one file."""
    from rankloop.data.io.formats import read
    from rankloop.data.words import count
    from rankloop.learners.registry import read_learner
    from rankloop.learners.saving import load
    from rankloop.learners.training import continued, new_learner, trained
    from rankloop.metrics.evaluation import evaluate

    options = o.letor_options(skip_bad_rows, n_features)
    if resume is None:
        model = new_learner(*read_learner(learner), metric[0], scale)
    else:
        model = load(resume)
        options["n_features"] = n_features or model.n_features_in_
    queries = read(*data, format=format, **options)
    judged = None
    if valid is not None:
        judged = read(valid, format=format, **{**options, "n_features": queries.n_features})
    with rounds_progress(metric[0]) as show:
        if resume is None:
            model = trained(model, queries, judged, show)
        else:
            model = continued(model, queries, hold, judged, show)
    results = []
    if judged is not None:
        scores = model.predict(judged)
        results = [r for rule in convention for r in evaluate(judged, scores, metric, rule)]
    model.save(output)
    if json:
        print_json(
            {
                "model": str(output),
                "learner": repr(model),
                "queries": model.queries_,
                "features": model.n_features_in_,
                "rounds": getattr(model, "rounds_", None),
                "valid": [result.to_dict() for result in results],
            }
        )
        return
    rounds = f" in {count(model.rounds_, 'round', 'rounds')}" if hasattr(model, "rounds_") else ""
    typer.echo(f"{output}: {model!r}, {model.queries_:,} queries learnt{rounds}")
    if results:
        rows = ([r.measure, r.convention, r.mean, r.queries, r.left_out] for r in results)
        print_table(["measure", "convention", "mean", "queries", "left out"], rows)
