"""`rankloop compare-runs`: whether one ranking is better than another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import Printer

if TYPE_CHECKING:
    from rankloop.measures.comparison import Comparison


@takes_groups
def compare_runs(
    source: DataSource,
    printer: Printer,
    scores: Annotated[
        list[str], typer.Option("--scores", help="Score file, as FILE or NAME=FILE; repeat.")
    ] = [],
    run: Annotated[
        list[str], typer.Option("--run", help="TREC run file, as FILE or NAME=FILE; repeat.")
    ] = [],
    model: Annotated[
        list[str], typer.Option("--model", help="Model file, as FILE or NAME=FILE; repeat.")
    ] = [],
    measures: o.Measures = ["nDCG@10"],
    convention: o.Convention = "standard",
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Compare all with this one; by default, every pair."),
    ] = None,
    test: Annotated[
        str,
        typer.Option(
            "--test",
            help="randomisation, paired_t, wilcoxon or bootstrap.",
            callback=o.check_with(o.check_test),
        ),
    ] = "randomisation",
    level: Annotated[float, typer.Option("--level", help="Significance level.")] = 0.05,
    seed: o.Seed = 0,
) -> None:
    """Compare rankings query by query: difference, effect, significance (Holm-corrected)."""
    from rankloop.cli.systems import read_system
    from rankloop.measures.comparison import compare_runs as compare_values
    from rankloop.measures.evaluation import evaluate

    if not 0 < level < 1:
        raise typer.BadParameter(f"level must lie between 0 and 1; found {level}")
    judged = source.read()
    systems = {}
    for kind, items in (("scores", scores), ("run", run), ("model", model)):
        for item in items:
            name, path = _split_name(item)
            if name in systems:
                raise typer.BadParameter(f"two rankings are called {name!r}; write NAME=FILE")
            systems[name] = read_system(judged, path, kind)
    if baseline is not None and baseline not in systems:
        known = ", ".join(systems)
        raise typer.BadParameter(f"unknown baseline {baseline!r}; known: {known}")
    comparisons = {}
    for measure in measures:
        values = {
            name: s.values_for(judged, evaluate(s.data, s.scores, measure, convention).results[0])
            for name, s in systems.items()
        }
        comparisons[measure] = compare_values(
            values, baseline=baseline, test=test, level=level, seed=seed
        )
    records = [
        {"measure": measure, "convention": convention, "test": test, **row}
        for measure, comparison in comparisons.items()
        for row in comparison.to_dicts()
    ]
    if printer.records(records):
        return
    for measure, comparison in comparisons.items():
        _print(comparison, f"{measure} ({convention}), {test} test", level, printer)


def _print(comparison: Comparison, title: str, level: float, printer: Printer) -> None:
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
    printer.table([*columns, "won/tied/lost", "p", "p (Holm)"], rows, title)


def _split_name(item: str) -> tuple[str, Path]:
    name, equals, path = item.partition("=")
    return (name, Path(path)) if equals else (Path(item).stem, Path(item))
