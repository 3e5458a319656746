"""`rankloop compare-runs`: whether one ranking is better than another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.output import print_json, print_table

if TYPE_CHECKING:
    from rankloop.metrics.comparison import Comparison


def compare_runs(
    data: o.Data,
    scores: Annotated[
        list[str], typer.Option("--scores", help="Score file, as FILE or NAME=FILE; repeat.")
    ] = [],
    run: Annotated[
        list[str], typer.Option("--run", help="TREC run file, as FILE or NAME=FILE; repeat.")
    ] = [],
    model: Annotated[
        list[str], typer.Option("--model", help="Model file, as FILE or NAME=FILE; repeat.")
    ] = [],
    metric: o.Metrics = ["nDCG@10"],
    convention: Annotated[str, typer.Option("--convention", "-c")] = "standard",
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Compare all with this one; else every pair.")
    ] = None,
    test: Annotated[
        str, typer.Option("--test", help="randomisation, paired_t, wilcoxon or bootstrap.")
    ] = "randomisation",
    level: Annotated[float, typer.Option("--level", help="Significance level.")] = 0.05,
    seed: o.Seed = 0,
    format: o.Format = None,
    skip_bad_rows: o.SkipBadRows = False,
    json: o.Json = False,
) -> None:
    """Compare rankings query by query: difference, effect, significance (Holm-corrected)."""
    from rankloop.cli.systems import read_system
    from rankloop.data.io.formats import read
    from rankloop.metrics.comparison import compare
    from rankloop.metrics.evaluation import evaluate

    judged = read(*data, format=format, **o.letor_options(skip_bad_rows=skip_bad_rows))
    systems = {}
    for kind, items in (("scores", scores), ("run", run), ("model", model)):
        for item in items:
            name, path = _named(item)
            if name in systems:
                raise typer.BadParameter(f"two rankings are called {name!r}; write NAME=FILE")
            systems[name] = read_system(judged, path, kind)
    found = {}
    for measure in metric:
        values = {
            name: s.values_for(judged, evaluate(s.data, s.scores, measure, convention).results[0])
            for name, s in systems.items()
        }
        found[measure] = compare(values, baseline=baseline, test=test, level=level, seed=seed)
    if json:
        print_json(
            [
                {"metric": measure, "convention": convention, "test": test, **row}
                for measure, comparison in found.items()
                for row in comparison.to_dicts()
            ]
        )
        return
    for measure, comparison in found.items():
        _print(comparison, f"{measure} ({convention}), {test} test", level)


def _print(comparison: Comparison, title: str, level: float) -> None:
    interval = f"{100 * (1 - level):g}% interval"
    columns = ["system", "mean", "against", "mean", "difference", interval, "effect"]
    rows = [
        [
            d.system,
            d.mean_system,
            d.baseline,
            d.mean_baseline,
            f"{d.difference:+.4f}" + ("*" if d.significant else ""),
            f"{d.ci_low:+.4f} to {d.ci_high:+.4f}",
            f"{d.effect_size:+.2f}",
            f"{d.wins}/{d.ties}/{d.losses}",
            d.p_value,
            d.p_adjusted,
        ]
        for d in comparison.differences
    ]
    print_table([*columns, "won/tied/lost", "p", "p (Holm)"], rows, title)


def _named(item: str) -> tuple[str, Path]:
    name, equals, path = item.partition("=")
    return (name, Path(path)) if equals else (Path(item).stem, Path(item))
