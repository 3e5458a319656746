"""`rankloop train`: train a model and write it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.bundles import Source, reads_data, shows
from rankloop.cli.progress import rounds_progress
from rankloop.cli.tables import Shown, print_json


@reads_data
@shows
def train(
    source: Source,
    shown: Shown,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Model file to write.", callback=o.checked(o.check_folder)
        ),
    ],
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner",
            "-l",
            help="Learner, as auto (the default) or solar-ii:gamma=1000.",
            callback=o.checked(o.check_learner),
        ),
    ] = None,
    scale: o.Scale = None,
    resume: Annotated[
        Path | None, typer.Option("--from", help="Continue from this model instead.")
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            "--keep", help="With --from: influence of what it learnt, above 0, at most 1."
        ),
    ] = None,
    valid: Annotated[
        str | None,
        typer.Option(
            "--valid", help="Validation data: measures the model; batch learners stop early on it."
        ),
    ] = None,
    measures: o.Measures = ["nDCG@10"],
    convention: o.Conventions = ["standard"],
) -> None:
    """Train a learner and write it to one file."""
    from rankloop.data.words import count
    from rankloop.learners.registry import read_learner
    from rankloop.learners.saving import load
    from rankloop.learners.training import described, new_learner, read_like
    from rankloop.metrics.evaluation import evaluate

    if resume is not None and (learner is not None or scale is not None):
        given = "-l" if learner is not None else "--scale"
        raise typer.BadParameter(f"--from goes on with the model as it is: leave {given} out")
    if keep is not None and resume is None:
        raise typer.BadParameter("--keep is for going on from a model: give --from too")
    if resume is None:
        model = new_learner(*read_learner(learner or "auto"), measures[0], scale)
        queries = source.read()
        model = described(model, queries)
        like = {"width": queries.n_features}
    else:
        model = load(resume)
        like = read_like(model)
        queries = source.read(**like)
    judged = None if valid is None else source.read(valid, **like)
    with rounds_progress(measures[0]) as show:
        if resume is None:
            model.fit(queries, valid=judged, on_round=show)
        else:
            if keep is not None:
                model.discount_past(keep)
            model.go_on(queries, valid=judged, on_round=show)
    results = []
    if judged is not None:
        scores = model.predict(judged)
        results = [r for rule in convention for r in evaluate(judged, scores, measures, rule)]
    model.save(output)
    if shown.json:
        print_json(
            {
                "model": str(output),
                "learner": repr(model),
                "queries": model.n_queries_seen_,
                "features": model.n_features_in_,
                "rounds": model.rounds_,
                "valid": [result.to_dict() for result in results],
            }
        )
        return
    rounds = "" if model.rounds_ is None else f" in {count(model.rounds_, 'round', 'rounds')}"
    shown.note(f"{output}: {model!r}, {model.n_queries_seen_:,} queries learnt{rounds}")
    if results:
        rows = ([r.measure, r.convention, r.mean, r.queries, r.left_out] for r in results)
        shown.table(["measure", "convention", "mean", "queries", "left out"], rows)
