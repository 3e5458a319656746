"""`rankloop train`: train a model and write it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.progress import parts_progress, rounds_progress
from rankloop.cli.tables import Printer, print_json

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Ranker


@takes_groups
def train(
    source: DataSource,
    printer: Printer,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Model file to write.", callback=o.check_with(o.check_folder)
        ),
    ],
    ranker: Annotated[
        str | None,
        typer.Option(
            "--ranker",
            "-r",
            help="Ranker, such as auto (the default) or solar-ii:gamma=1000.",
            callback=o.check_with(o.check_ranker),
        ),
    ] = None,
    scale: o.Scale = None,
    category_limit: o.CategoryLimit = None,
    category_buckets: o.CategoryBuckets = None,
    resume: Annotated[
        Path | None, typer.Option("--from", help="Continue from this model instead.")
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            "--keep",
            help="With --from: weight of the old model, above 0 and at most 1; lower values give "
            "new data more influence.",
        ),
    ] = None,
    valid: Annotated[
        str | None,
        typer.Option(
            "--valid",
            help="Validation data: for measuring, and for early stopping of batch rankers.",
        ),
    ] = None,
    measures: o.Measures = ["nDCG@10"],
    convention: o.Conventions = ["standard"],
    cluster: o.Cluster = None,
    by_query: o.ByQuery = False,
    mix_every: Annotated[
        int | None,
        typer.Option(
            "--mix-every",
            help="With --cluster: online rankers are merged after this many queries of each file; "
            "by default, after a pass.",
            min=1,
        ),
    ] = None,
) -> None:
    """Train a ranker and write it to one file."""
    from rankloop.rankers.model_files.saving import load
    from rankloop.rankers.registry import read_ranker
    from rankloop.rankers.training import describe_if_needed, new_ranker, read_like

    if resume is not None and (ranker is not None or scale is not None):
        given = "-r" if ranker is not None else "--scale"
        raise typer.BadParameter(
            f"--from continues with the ranker and scaling of the saved model: leave out {given}"
        )
    if keep is not None and resume is None:
        raise typer.BadParameter("--keep needs a model to continue from: give --from too")
    if cluster is None and (by_query or mix_every is not None):
        given = "--by-query" if by_query else "--mix-every"
        raise typer.BadParameter(f"{given} is for training on a cluster: give --cluster too")
    if cluster is not None and resume is not None:
        raise typer.BadParameter("--from trains in this process: leave out --cluster")
    if cluster is not None:
        model = new_ranker(*read_ranker(ranker or "auto"), measures[0], scale)
        model, judged = _on_cluster(cluster, model, source, valid, measures[0], by_query, mix_every)
        _report(model, judged, output, measures, convention, printer)
        return
    if resume is None:
        model = new_ranker(*read_ranker(ranker or "auto"), measures[0], scale)
        queries = source.read()
        limits = {"category_limit": category_limit, "category_buckets": category_buckets}
        chosen = {name: value for name, value in limits.items() if value is not None}
        model = describe_if_needed(model, queries, **chosen)
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
    _report(model, judged, output, measures, convention, printer)


def _on_cluster(
    cluster: str,
    model: Ranker,
    source: DataSource,
    valid: str | None,
    measure: str,
    by_query: bool,
    mix_every: int | None,
) -> tuple[Ranker, QueryDataset | None]:
    """Train a ranker on the files where they are; return it with the validation data."""
    from rankloop.distributed import Parts, connect, fit

    with connect(cluster) as client, rounds_progress(measure) as show, parts_progress() as tell:
        parts = Parts(client, source.places, by_query=by_query, **source.options)
        judged = None if valid is None else source.read(valid)
        callbacks: dict[str, Any] = {"on_round": show, "on_progress": tell}
        return fit(model, parts, valid=judged, mix_every=mix_every, **callbacks), judged


def _report(
    model: Ranker,
    judged: QueryDataset | None,
    output: Path,
    measures: list[str],
    convention: list[str],
    printer: Printer,
) -> None:
    """Measure a model on validation data, write it, and say so."""
    from rankloop._utils.messages import count
    from rankloop.measures.evaluation import evaluate
    from rankloop.rankers.batch.base import refit_parameters

    results = []
    if judged is not None:
        scores = model.predict(judged)
        results = [r for rule in convention for r in evaluate(judged, scores, measures, rule)]
    model.save(output)
    if printer.json:
        print_json(
            {
                "model": str(output),
                "ranker": repr(model),
                "queries": model.n_queries_seen_,
                "features": model.n_features_in_,
                "rounds": model.rounds_,
                "valid": [result.to_dict() for result in results],
            }
        )
        return
    rounds = "" if model.rounds_ is None else f" in {count(model.rounds_, 'round', 'rounds')}"
    printer.note(f"{output}: {model!r}, {model.n_queries_seen_:,} queries learnt{rounds}")
    features = getattr(model, "features", None)
    for note in [] if features is None else features.notes():
        printer.note(note)
    if results:
        rows = ([r.measure, r.convention, r.mean, r.queries, r.left_out] for r in results)
        printer.table(["measure", "convention", "mean", "queries", "left out"], rows)
        if any(refit_parameters(model).values()):
            printer.note(
                "The model was trained on the validation data too (refit), so these values are too "
                "high; measure it on other data with `rankloop evaluate`"
            )
