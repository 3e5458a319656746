"""`rankloop train`: train a model and write it to a file."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Continuing:
    """The model to continue from."""

    resume: Annotated[
        Path | None, typer.Option("--from", help="Continue from this model instead.")
    ] = None
    keep: Annotated[
        float | None,
        typer.Option(
            "--keep",
            help="With --from: weight of the old model, above 0 and at most 1; lower values give "
            "new data more influence.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.keep is not None and self.resume is None:
            raise typer.BadParameter("--keep needs a model to continue from: give --from too")


@dataclass(frozen=True)
class OnCluster:
    """The cluster to train on."""

    cluster: o.Cluster = None
    by_query: o.ByQuery = False
    mix_every: Annotated[
        int | None,
        typer.Option(
            "--mix-every",
            help="With --cluster: online rankers are merged after this many queries of each file; "
            "by default, after a pass.",
            min=1,
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.cluster is None and (self.by_query or self.mix_every is not None):
            given = "--by-query" if self.by_query else "--mix-every"
            raise typer.BadParameter(f"{given} is for training on a cluster: give --cluster too")


@takes_groups
def train(
    source: DataSource,
    printer: Printer,
    categories: o.CategoryLimits,
    old: Continuing,
    place: OnCluster,
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
    valid: Annotated[
        str | None,
        typer.Option(
            "--valid",
            help="Validation data: for measuring, and for early stopping of batch rankers.",
        ),
    ] = None,
    measures: o.Measures = ["nDCG@10"],
    convention: o.Conventions = ["standard"],
) -> None:
    """Train a ranker and write it to one file."""
    if old.resume is not None:
        given = {"-r": ranker, "--scale": scale}
        for option in (option for option, value in given.items() if value is not None):
            raise typer.BadParameter(
                f"--from continues with the ranker and scaling of the saved model: leave out "
                f"{option}"
            )
        if place.cluster is not None:
            raise typer.BadParameter("--from trains in this process: leave out --cluster")
        model, judged = _go_on(old, source, valid, measures[0])
    else:
        model = _new(ranker or "auto", measures[0], scale)
        learn = _here if place.cluster is None else _on_cluster
        model, judged = learn(model, source, valid, measures[0], categories, place)
    _report(model, judged, output, measures, convention, printer)


def _new(ranker: str, measure: str, scale: str | None) -> Ranker:
    from rankloop.rankers.registry import read_ranker
    from rankloop.rankers.training import new_ranker

    return new_ranker(*read_ranker(ranker), measure, scale)


def _go_on(
    old: Continuing, source: DataSource, valid: str | None, measure: str
) -> tuple[Ranker, QueryDataset | None]:
    """Continue from a saved model; return it with the validation data."""
    from rankloop.rankers.model_files.saving import load
    from rankloop.rankers.training import read_like

    assert old.resume is not None
    model = load(old.resume)
    like = read_like(model)
    queries = source.read(**like)
    judged = None if valid is None else source.read(valid, **like)
    with rounds_progress(measure) as show:
        if old.keep is not None:
            model.discount_past(old.keep)
        return model.go_on(queries, valid=judged, on_round=show), judged


def _here(
    model: Ranker,
    source: DataSource,
    valid: str | None,
    measure: str,
    categories: o.CategoryLimits,
    place: OnCluster,  # noqa: ARG001
) -> tuple[Ranker, QueryDataset | None]:
    """Train a ranker in this process; return it with the validation data."""
    from rankloop.rankers.training import describe_if_needed

    queries = source.read()
    model = describe_if_needed(model, queries, **categories.chosen)
    judged = None if valid is None else source.read(valid, width=queries.n_features)
    with rounds_progress(measure) as show:
        return model.fit(queries, valid=judged, on_round=show), judged


def _on_cluster(
    model: Ranker,
    source: DataSource,
    valid: str | None,
    measure: str,
    categories: o.CategoryLimits,
    place: OnCluster,
) -> tuple[Ranker, QueryDataset | None]:
    """Train a ranker on the files where they are; return it with the validation data."""
    from rankloop.distributed import Parts, connect, fit
    from rankloop.rankers.wrappers.described import Described

    with (
        connect(place.cluster) as client,
        rounds_progress(measure) as show,
        parts_progress() as tell,
    ):
        parts = Parts(client, source.places, by_query=place.by_query, **source.options)
        if parts.columns().needs_description:
            model = Described(model).set_params(**categories.chosen)
        judged = None if valid is None else source.read(valid)
        callbacks: dict[str, Any] = {"on_round": show, "on_progress": tell}
        return fit(model, parts, valid=judged, mix_every=place.mix_every, **callbacks), judged


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
