"""`rankloop tune`: search a ranker's parameters."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.progress import trials_progress
from rankloop.cli.tables import Printer, print_json


@takes_groups
def tune(
    source: DataSource,
    printer: Printer,
    ranker: o.Ranker,
    folds: Annotated[int, typer.Option("--folds", help="Folds by query.", min=2)] = 5,
    measure: o.Measure = "nDCG@10",
    convention: o.Convention = "standard",
    trials: Annotated[
        int, typer.Option("--trials", help="Number of settings, including stored ones.", min=1)
    ] = 50,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", help="Seconds after which no new setting is tried.", min=0),
    ] = None,
    storage: Annotated[
        Path | None,
        typer.Option("--storage", help="File that keeps the trials; continue from them."),
    ] = None,
    seed: o.Seed = 0,
    scale: o.Scale = None,
    category_limit: Annotated[
        list[int],
        typer.Option(
            "--category-limit",
            help="A number of categories of a feature that get a column of their own; give it "
            "several times to search the best one.",
            min=1,
        ),
    ] = [],
    cluster: o.Cluster = None,
) -> None:
    """Search a ranker's parameters; print the best ones, and the command that trains with them."""
    from rankloop.experiments.tuning import tune as search

    queries = source.read() if cluster is None else source.places
    options = {} if cluster is None else source.options
    with trials_progress(trials) as show:
        result = search(
            queries,
            ranker,
            measure,
            convention,
            folds=folds,
            trials=trials,
            timeout=timeout,
            storage=storage,
            seed=seed,
            scale=scale,
            category_limit=category_limit,
            cluster=cluster,
            on_trial=show,
            **options,
        )
    given = [*source.to_words(), *(["--scale", scale] if scale else [])]
    limit = result.setting.get("category_limit")
    given += [] if limit is None else ["--category-limit", str(limit)]
    words = ["rankloop", "train", *source.places, "-r", result.ranker, *given, "-o", "model.rlm"]
    command = shlex.join(words)
    if printer.json:
        asked = {"measure": measure, "convention": convention, "folds": folds, "command": command}
        print_json({**result.to_dict(), **asked})
        return
    best = sorted((t for t in result.trials if not t.pruned), key=lambda t: -(t.value or 0))
    names = list(result.setting)
    rows = [[t.number, *(_show_value(t.setting.get(n)) for n in names), t.value] for t in best[:10]]
    printer.table(["trial", *names, f"{measure} ({convention})"], rows)
    pruned = sum(trial.pruned for trial in result.trials)
    printer.note(
        f"{len(result.trials)} trials, {pruned} stopped early. To train with the best setting:\n"
    )
    printer.note(f"  {command}")


def _show_value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
