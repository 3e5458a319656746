"""`rankloop inspect`: the summary of a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import Printer, print_json

if TYPE_CHECKING:
    from rankloop.data.summary import Summary


@takes_groups
def inspect(
    source: DataSource,
    printer: Printer,
    list_features: Annotated[bool, typer.Option("--list", help="List every feature.")] = False,
    plot: o.Plot = None,
) -> None:
    """Summarise a data set: sizes, grades, features, and what looks wrong."""
    from rankloop.data.summary import summarise

    summary = summarise(source.read(labelled=False))
    if plot is not None:
        from rankloop.plotting.figures import save_figure
        from rankloop.plotting.summary import plot_summary

        save_figure(plot_summary(summary), plot)
    if printer.json:
        print_json(summary.to_dict())
    else:
        _print(summary, list_features, printer)


def _print(s: Summary, list_features: bool, printer: Printer) -> None:
    from rankloop.data.memory import show_size

    lengths = ", ".join(f"{n:g}" for n in s.list_lengths)
    rows: list[tuple[str, object]] = [
        ("queries", s.queries),
        ("documents", s.documents),
        ("features", s.features),
        ("memory", show_size(s.memory)),
        ("documents per query", f"{lengths} (min, quartiles, max)"),
        ("queries without a relevant document", s.no_relevant),
        ("queries with one grade only", s.one_grade),
        ("unjudged documents", s.unjudged),
        ("constant features", len(s.constant_features)),
        ("duplicate features", len(s.duplicate_features)),
        ("duplicate documents", s.duplicate_documents),
    ]
    printer.table(
        ["", ""],
        [(name, value if isinstance(value, str) else f"{value:,}") for name, value in rows],
    )
    total = max(sum(s.grades.counts), 1)
    shares = ((label, count, f"{100 * count / total:.1f}%") for label, count in s.grades.rows())
    printer.table(["grade", "documents", "share"], shares)
    if list_features:
        columns = ["feature", "min", "max", "mean", "zeros", "missing"]
        features = (
            (
                f.name,
                f"{f.minimum:g}",
                f"{f.maximum:g}",
                f"{f.mean:g}",
                f"{100 * f.zeros:.0f}%",
                f.missing,
            )
            for f in s.feature_summaries
        )
        printer.table(columns, features)
    for note in s.notes:
        printer.note(f"- {note}")
