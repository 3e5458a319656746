"""A run of experiments as one page of HTML: verdicts, tables that sort, figures, reasons."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import MissingExtraError
from rankloop.experiments.pages import drawing, page, table
from rankloop.experiments.papers.declaration import Verdict
from rankloop.experiments.report_tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rankloop.experiments.papers.runner import Judged, Outcome

_CLASSES = {
    str(Verdict.OK): "good",
    str(Verdict.ABOVE): "good",
    str(Verdict.NEAR): "warn",
    str(Verdict.FAR): "bad",
}
_COLUMNS = ["part", "value", "ours", "±", "published", "verdict", "data"]


def write_page(outcomes: Sequence[Outcome], path: Path, command: str) -> None:
    """Write a page; an error leaves an old file unchanged."""
    verdicts = [str(verdict) for verdict in Verdict]
    counts = [
        [one.experiment.id, one.experiment.shows, *(str(n) for n in one.count().values())]
        for one in outcomes
    ]
    parts = ["<h1>Tables and figures of the papers</h1>"]
    if len(outcomes) > 1:
        parts.append(table(Table("", ["experiment", "what it shows", *verdicts], counts)))
    for one in outcomes:
        parts += _section(one)
    parts += ["<h2>How it was made</h2>", f"<pre>{escape(command)}</pre>"]
    with replace_when_done(path) as partial:
        partial.write_text(page("Tables and figures of the papers", parts), encoding="utf-8")


def _section(outcome: Outcome) -> list[str]:
    experiment = outcome.experiment
    counts = ", ".join(f"{n} {verdict}" for verdict, n in outcome.count().items() if n)
    rows = [_row(judged) for judged in outcome.judged if judged.ours is not None]
    missing = dict.fromkeys((j.part, str(j.verdict), j.why) for j in outcome.judged if j.why)
    notes = [f"{part}: {verdict}, {why}" for part, verdict, why in missing]
    notes += [f"{part}: {note}" for part, found in outcome.found.items() for note in found.notes]
    return [
        f"<h2>{escape(experiment.id)}: {escape(experiment.source)}</h2>",
        f"<p>{escape(experiment.paper)}. {escape(experiment.shows)}</p>",
        f"<p>{escape(counts)}.</p>",
        table(Table(experiment.id, _COLUMNS, rows), _CLASSES) if rows else "",
        f"<p>Why some are far: {escape(outcome.reason)}</p>" if outcome.reason else "",
        *_figures(outcome),
        f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else "",
    ]


def _row(judged: Judged) -> list[str]:
    return [
        judged.part,
        judged.name,
        f"{judged.ours:.4f}",
        f"{judged.spread:.4f}" if judged.spread else "",
        judged.expected,
        str(judged.verdict),
        judged.data,
    ]


def _figures(outcome: Outcome) -> list[str]:
    from rankloop.plotting.curves import plot_curves

    try:
        return [
            drawing(plot_curves(found.curves, found.axes, f"{part}: {outcome.sources[part]}"))
            for part, found in outcome.found.items()
            if found.curves
        ]
    except MissingExtraError as error:
        return [f"<p>No figure: {escape(str(error))}</p>"]
