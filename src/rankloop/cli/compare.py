"""`rankloop compare`: learners side by side on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.output import cells_progress, print_json, print_table, typed_command


def compare(
    data: o.Data,
    learner: o.Learners,
    folds: Annotated[
        str | None,
        typer.Option(
            "--folds",
            help="letor, or a number of folds by query; LETOR's where there are any, else 5.",
            metavar="F",
        ),
    ] = None,
    splits: Annotated[
        str | None,
        typer.Option(
            "--splits",
            help="Instead of folds: deal queries at random into training/validation/test.",
            metavar="0.6/0.2/0.2",
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", help="With --splits: so many times.", min=1)
    ] = 10,
    metric: o.Metrics = ["nDCG@10"],
    convention: o.Conventions = ["standard"],
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Test all against this learner; else against the first."),
    ] = None,
    seed: o.Seed = 0,
    scale: o.Scale = None,
    no_search: Annotated[
        bool, typer.Option("--no-search", help="Keep parameters as they are, do not choose.")
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Learners and folds at the same time.", min=1)
    ] = 1,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="Folder to keep finished parts in, and to go on from."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write a page, .md or .html, to hand around.")
    ] = None,
    plot: o.Plot = None,
    format: o.Format = None,
    skip_bad_rows: o.SkipBadRows = False,
    json: o.Json = False,
) -> None:
    """Compare learners: parameters chosen on validation data, quality measured on test data."""
    from rankloop.experiments.compare import compare_learners
    from rankloop.experiments.fold_source import Trials
    from rankloop.experiments.report import check_report_path, write_report
    from rankloop.experiments.report_tables import tables
    from rankloop.plotting.compare import plot_standings
    from rankloop.plotting.save import check_figure_path, save_figure

    if report is not None:
        check_report_path(report)
    if plot is not None:
        check_figure_path(plot)
    with cells_progress() as show:
        standings = compare_learners(
            data,
            learner,
            metric,
            convention,
            folds=folds,
            trials=None if splits is None else Trials.read(splits, trials),
            baseline=baseline,
            seed=seed,
            scale=scale,
            search=not no_search,
            jobs=jobs,
            resume=resume,
            on_progress=show,
            format=format,
            skip_bad_rows=skip_bad_rows,
        )
    if report is not None:
        write_report(standings, report, typed_command())
    if plot is not None:
        save_figure(plot_standings(standings), plot)
    if json:
        print_json(standings.to_dicts())
        return
    for table in tables(standings):
        print_table(table.columns, table.rows, table.title)
        if table.note:
            typer.echo(f"{table.note}\n")
