"""A run of experiments as one page of HTML: verdicts, tables that sort, figures, reasons."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import MissingExtraError
from rankloop.experiments.pages import drawing, page, table
from rankloop.experiments.papers.declaration import ReproductionVerdict
from rankloop.experiments.report_tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rankloop.experiments.papers.runner import Reproduction, ScoreComparison

_CLASSES = {
    str(ReproductionVerdict.OK): "good",
    str(ReproductionVerdict.ABOVE): "good",
    str(ReproductionVerdict.NEAR): "warn",
    str(ReproductionVerdict.FAR): "bad",
}
_COLUMNS = ["part", "value", "ours", "±", "published", "verdict", "data"]


def write_page(reproductions: Sequence[Reproduction], path: Path, command: str) -> None:
    """Write a page; an error leaves an old file unchanged."""
    verdicts = [str(verdict) for verdict in ReproductionVerdict]
    counts = [
        [
            reproduction.experiment.id,
            reproduction.experiment.shows,
            *(str(n) for n in reproduction.count().values()),
        ]
        for reproduction in reproductions
    ]
    parts = ["<h1>Tables and figures of the papers</h1>"]
    if len(reproductions) > 1:
        parts.append(table(Table("", ["experiment", "what it shows", *verdicts], counts)))
    for reproduction in reproductions:
        parts += _section(reproduction)
    parts += ["<h2>How it was made</h2>", f"<pre>{escape(command)}</pre>"]
    with replace_when_done(path) as partial:
        partial.write_text(page("Tables and figures of the papers", parts), encoding="utf-8")


def _section(reproduction: Reproduction) -> list[str]:
    experiment = reproduction.experiment
    counts = ", ".join(f"{n} {verdict}" for verdict, n in reproduction.count().items() if n)
    rows = [
        _row(comparison) for comparison in reproduction.comparisons if comparison.ours is not None
    ]
    missing = dict.fromkeys(
        (c.part, str(c.verdict), c.why) for c in reproduction.comparisons if c.why
    )
    notes = [f"{part}: {verdict}, {why}" for part, verdict, why in missing]
    notes += [
        f"{part}: {note}" for part, result in reproduction.results.items() for note in result.notes
    ]
    return [
        f"<h2>{escape(experiment.id)}: {escape(experiment.source)}</h2>",
        f"<p>{escape(experiment.paper)}. {escape(experiment.shows)}</p>",
        f"<p>{escape(counts)}.</p>",
        table(Table(experiment.id, _COLUMNS, rows), _CLASSES) if rows else "",
        f"<p>Why some are far: {escape(reproduction.reason)}</p>" if reproduction.reason else "",
        *_figures(reproduction),
        f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else "",
    ]


def _row(comparison: ScoreComparison) -> list[str]:
    return [
        comparison.part,
        comparison.name,
        f"{comparison.ours:.4f}",
        f"{comparison.spread:.4f}" if comparison.spread else "",
        comparison.expected,
        str(comparison.verdict),
        comparison.data,
    ]


def _figures(reproduction: Reproduction) -> list[str]:
    from rankloop.plotting.curves import plot_curves

    try:
        return [
            drawing(
                plot_curves(result.curves, result.axes, f"{part}: {reproduction.sources[part]}")
            )
            for part, result in reproduction.results.items()
            if result.curves
        ]
    except MissingExtraError as error:
        return [f"<p>No figure: {escape(str(error))}</p>"]
