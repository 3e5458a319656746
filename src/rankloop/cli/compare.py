"""`rankloop compare`: compare rankers on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.progress import fold_progress, read_command_line
from rankloop.cli.tables import Printer


@takes_groups
def compare(
    source: DataSource,
    printer: Printer,
    ranker: o.Contenders,
    folds: Annotated[
        str | None,
        typer.Option(
            "--folds",
            help="letor, or a number of folds by query. Default: LETOR's if there are any, or 5.",
            metavar="F",
            callback=o.check_with(o.check_folds),
        ),
    ] = None,
    splits: Annotated[
        str | None,
        typer.Option(
            "--splits",
            help="Instead of folds: split queries at random into training/validation/test.",
            metavar="0.6/0.2/0.2",
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", help="With --splits: number of random splits.", min=1)
    ] = 10,
    measures: o.Measures = ["nDCG@10"],
    convention: o.Conventions = ["standard"],
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Compare all with this ranker; by default, the first."),
    ] = None,
    seed: o.Seed = 0,
    scale: o.Scale = None,
    category_limit: o.CategoryLimit = None,
    category_buckets: o.CategoryBuckets = None,
    no_search: Annotated[
        bool, typer.Option("--no-search", help="Use the given or default parameters; search none.")
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Number of parts to run at the same time.", min=1)
    ] = 1,
    cluster: o.Cluster = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="Folder that keeps finished parts; continue from them."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="Write a report, .md or .html.",
            callback=o.check_with(o.check_report),
        ),
    ] = None,
    plot: o.Plot = None,
) -> None:
    """Compare rankers: parameters chosen on validation data, quality measured on test data."""
    from rankloop.experiments.compare import compare_rankers
    from rankloop.experiments.fold_source import Trials
    from rankloop.experiments.report import write_report
    from rankloop.experiments.report_tables import tables
    from rankloop.plotting.compare import plot_standings
    from rankloop.plotting.figures import save_figure

    if baseline is not None and baseline not in ranker:
        named = ", ".join(ranker)
        raise typer.BadParameter(f"the baseline {baseline!r} is not among the rankers: {named}")
    if splits is not None and folds is not None:
        raise typer.BadParameter("give either --folds or --splits, not both")
    if cluster is not None and jobs > 1:
        raise typer.BadParameter("give either --cluster or --jobs, not both")
    with fold_progress() as show:
        standings = compare_rankers(
            source.places,
            ranker,
            measures,
            convention,
            folds=folds,
            trials=None if splits is None else Trials.read(splits, trials),
            baseline=baseline,
            seed=seed,
            scale=scale,
            search=not no_search,
            category_limit=category_limit,
            category_buckets=category_buckets,
            jobs=jobs,
            cluster=cluster,
            resume=resume,
            on_progress=show,
            **source.options,
        )
    if report is not None:
        write_report(standings, report, read_command_line())
    if plot is not None:
        save_figure(plot_standings(standings), plot)
    if printer.records(standings.to_dicts()):
        return
    for table in tables(standings):
        printer.table(table.columns, table.rows, table.title)
        if table.note:
            printer.note(f"{table.note}\n")
