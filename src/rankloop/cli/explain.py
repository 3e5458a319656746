"""`rankloop explain`: what a model uses, and why a document has its rank."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop._utils.tabular import show
from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import Printer, print_json

_FEW = 5
_SIGNED = {"weight", "coefficient", "alpha", "effect"}


@takes_groups
def explain(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    source: DataSource,
    printer: Printer,
    top: Annotated[
        int | None,
        typer.Option("--top", help="Number of rows to show; the most important come first.", min=1),
    ] = None,
    one_query: Annotated[
        str | None,
        typer.Option("--of", help="Explain the ranking of this query.", metavar="ID"),
    ] = None,
    plot: o.Plot = None,
) -> None:
    """Show the parts of a model; with DATA, what each feature adds to scores.

    Without DATA, it shows weights, trees or weak rankers. With DATA, it shows for any ranker how
    much each feature moves scores within a query, on average or, with --of, for each document.
    """
    from rankloop.experiments.explaining import explain_ranking, importance, parts_of
    from rankloop.rankers.model_files.saving import load
    from rankloop.rankers.training import read_like

    ranker = load(model)
    if not source.data and source.config is None:
        for option, given in (("--of", one_query), ("--plot", plot)):
            if given is not None:
                raise typer.BadParameter(f"{option} needs DATA; give files of data")
        _show(parts_of(ranker)[:top], printer)
        return
    queries = source.read(labelled=False, **read_like(ranker))
    if one_query is not None:
        explanation = explain_ranking(ranker, queries, one_query, top or 5)
    else:
        explanation = importance(ranker, queries)[:top]
    if plot is not None:
        from rankloop.plotting.explanations import plot_explained
        from rankloop.plotting.figures import save_figure

        save_figure(plot_explained(explanation), plot)
    _show(explanation, printer)


def _show(parts: list[dict[str, object]], printer: Printer) -> None:
    if printer.json:
        print_json(parts)
        return
    columns = list(dict.fromkeys(key for part in parts for key in part))
    rows = ([_show_value(key, part.get(key)) for key in columns] for part in parts)
    printer.table(columns, rows)


def _show_value(key: str, value: object) -> str:
    """Write a value; weights have a sign, and of many, the largest are shown."""
    if isinstance(value, dict):
        largest = sorted(value, key=lambda name: -abs(value[name]))[:_FEW]
        shown = ", ".join(f"{name} {_show_value('weight', value[name])}" for name in largest)
        return shown + (f" and {len(value) - _FEW} more" if len(value) > _FEW else "")
    if isinstance(value, list):
        shown = ", ".join(_show_value(key, part) for part in value[:_FEW])
        return shown + (f" and {len(value) - _FEW} more" if len(value) > _FEW else "")
    if isinstance(value, float):
        return ("+" if key in _SIGNED and value > 0 else "") + show(value)
    return "" if value is None else str(value)
