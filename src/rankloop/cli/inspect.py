"""`rankloop inspect`: a data set at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.output import print_json, print_table

if TYPE_CHECKING:
    from rankloop.data.summary import Summary


def inspect(
    data: o.Data,
    features: Annotated[bool, typer.Option("--features", help="List every feature.")] = False,
    plot: o.Plot = None,
    format: o.Format = None,
    skip_bad_rows: o.SkipBadRows = False,
    null: o.Null = 0.0,
    json: o.Json = False,
) -> None:
    """Show a data set at a glance: sizes, grades, features, and what looks wrong."""
    from rankloop.data.io.formats import read
    from rankloop.data.summary import summarise

    options = o.letor_options(skip_bad_rows=skip_bad_rows, null=null)
    summary = summarise(read(*data, format=format, **options))
    if plot is not None:
        from rankloop.plotting.save import save_figure
        from rankloop.plotting.summary import plot_summary

        save_figure(plot_summary(summary), plot)
    if json:
        print_json(summary.to_dict())
    else:
        _print(summary, features)


def _print(s: Summary, features: bool) -> None:
    from rankloop.data.memory import show_size

    lengths = ", ".join(f"{n:g}" for n in s.list_lengths)
    rows: list[tuple[str, object]] = [
        ("queries", s.queries),
        ("documents", s.documents),
        ("features", s.features),
        ("memory", show_size(s.memory)),
        ("documents a query", f"{lengths} (min, quartiles, max)"),
        ("queries without a relevant document", s.no_relevant),
        ("queries with one grade only", s.one_grade),
        ("unjudged documents", s.unjudged),
        ("constant features", len(s.constant_features)),
        ("duplicate features", len(s.duplicate_features)),
        ("duplicate documents", s.duplicate_documents),
    ]
    print_table(
        ["", ""],
        [(name, value if isinstance(value, str) else f"{value:,}") for name, value in rows],
    )
    total = max(sum(s.grades.counts), 1)
    shares = ((label, count, f"{100 * count / total:.1f}%") for label, count in s.grades.rows())
    print_table(["grade", "documents", "share"], shares)
    if features:
        columns = ["feature", "min", "max", "mean", "zeros", "missing"]
        found = (
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
        print_table(columns, found)
    for note in s.notes:
        typer.echo(f"- {note}")
