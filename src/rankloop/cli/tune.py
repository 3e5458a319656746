"""`rankloop tune`: a learner's parameters, searched."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.output import print_json, print_table, trials_progress


def tune(
    data: o.Data,
    learner: Annotated[
        str, typer.Option("--learner", "-l", help="As solar-ii or slam:measure=AP.")
    ],
    folds: Annotated[int, typer.Option("--folds", help="Folds by query.", min=2)] = 5,
    metric: Annotated[str, typer.Option("--metric", "-m", help="What to make large.")] = "nDCG@10",
    convention: Annotated[str, typer.Option("--convention", "-c")] = "standard",
    trials: Annotated[
        int, typer.Option("--trials", help="Settings in all, stored ones included.", min=1)
    ] = 50,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Seconds until no new one is tried.", min=0)
    ] = None,
    storage: Annotated[
        Path | None, typer.Option("--storage", help="File to keep trials in, and to go on from.")
    ] = None,
    seed: o.Seed = 0,
    scale: o.Scale = None,
    format: o.Format = None,
    skip_bad_rows: o.SkipBadRows = False,
    n_features: o.NFeatures = None,
    json: o.Json = False,
) -> None:
    """Search a learner's parameters; print the best, and the command that trains it."""
    from rankloop.data.io.formats import read
    from rankloop.experiments.tune import tune as search

    queries = read(*data, format=format, **o.letor_options(skip_bad_rows, n_features))
    with trials_progress(trials) as show:
        found = search(
            queries,
            learner,
            metric,
            convention,
            folds=folds,
            trials=trials,
            timeout=timeout,
            storage=storage,
            seed=seed,
            scale=scale,
            on_trial=show,
        )
    given = ["--format", format] if format else []
    given += ["--skip-bad-rows"] if skip_bad_rows else []
    given += ["--n-features", str(n_features)] if n_features is not None else []
    given += ["--scale", scale] if scale else []
    words = ["rankloop", "train", *map(str, data), "-l", found.learner, *given, "-o", "model.rlm"]
    command = shlex.join(words)
    if json:
        asked = {"metric": metric, "convention": convention, "folds": folds, "command": command}
        print_json({**found.to_dict(), **asked})
        return
    best = sorted((t for t in found.trials if not t.pruned), key=lambda t: -(t.value or 0))
    names = list(found.setting)
    rows = [[t.number, *(_shown(t.setting.get(n)) for n in names), t.value] for t in best[:10]]
    print_table(["trial", *names, f"{metric} ({convention})"], rows)
    pruned = sum(trial.pruned for trial in found.trials)
    typer.echo(f"{len(found.trials)} trials, {pruned} given up early. To train the best:\n")
    typer.echo(f"  {command}")


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
