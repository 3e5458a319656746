"""`rankloop explain`: what a model uses, and why a document has its rank."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import Printer, print_json


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
    from rankloop.experiments.explaining import explain as explain_model
    from rankloop.rankers.model_files.saving import load
    from rankloop.rankers.training import read_like

    ranker = load(model)
    data = None
    if source.data or source.config is not None:
        data = source.read(labelled=False, **read_like(ranker))
    else:
        for option, given in (("--of", one_query), ("--plot", plot)):
            if given is not None:
                raise typer.BadParameter(f"{option} needs DATA; give files of data")
    explanation = explain_model(ranker, data, query=one_query, top=top)
    if plot is not None:
        from rankloop.plotting.explanations import plot_explained
        from rankloop.plotting.figures import save_figure

        save_figure(plot_explained(explanation), plot)
    if printer.json:
        print_json(explanation.parts)
        return
    rows = explanation._rows()
    printer.table(list(rows[0]) if rows else [], (list(row.values()) for row in rows))
