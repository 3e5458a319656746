"""`rankloop compare`: compare rankers on the same folds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.progress import fold_progress, read_command_line
from rankloop.cli.tables import Printer

if TYPE_CHECKING:
    from rankloop.experiments.standings import Standings


@dataclass(frozen=True)
class Folding:
    """How the data is divided into training, validation and test parts."""

    folds: Annotated[
        str | None,
        typer.Option(
            "--folds",
            help="letor, or a number of folds by query. Default: LETOR's if there are any, or 5.",
            metavar="F",
            callback=o.check_with(o.check_folds),
        ),
    ] = None
    splits: Annotated[
        str | None,
        typer.Option(
            "--splits",
            help="Instead of folds: split queries at random into training/validation/test.",
            metavar="0.6/0.2/0.2",
        ),
    ] = None
    trials: Annotated[
        int, typer.Option("--trials", help="With --splits: number of random splits.", min=1)
    ] = 10

    def __post_init__(self) -> None:
        if self.splits is not None and self.folds is not None:
            raise typer.BadParameter("give either --folds or --splits, not both")

    @property
    def options(self) -> dict[str, Any]:
        """The parts, in the form that `rankloop.compare` takes."""
        from rankloop.experiments.fold_source import Trials

        trials = None if self.splits is None else Trials.read(self.splits, self.trials)
        return {"folds": self.folds, "trials": trials}


@dataclass(frozen=True)
class Work:
    """Where the parts run, and where finished ones are kept."""

    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Number of parts to run at the same time.", min=1)
    ] = 1
    cluster: o.Cluster = None
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            help="Folder that keeps finished parts; continue from them.",
            callback=o.check_with(o.check_output_folder),
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.cluster is not None and self.jobs > 1:
            raise typer.BadParameter("give either --cluster or --jobs, not both")


@takes_groups
def compare(
    source: DataSource,
    printer: Printer,
    parts: Folding,
    work: Work,
    categories: o.CategoryLimits,
    ranker: o.Contenders,
    measures: o.Measures = ["nDCG@10"],
    convention: o.Conventions = ["standard"],
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Compare all with this ranker; by default, the first."),
    ] = None,
    seed: o.Seed = 0,
    scale: o.Scale = None,
    no_search: Annotated[
        bool, typer.Option("--no-search", help="Use the given or default parameters; search none.")
    ] = False,
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
    from rankloop.experiments.comparison import compare as compare_rankers

    if baseline is not None and baseline not in ranker:
        named = ", ".join(ranker)
        raise typer.BadParameter(f"the baseline {baseline!r} is not among the rankers: {named}")
    with fold_progress() as show:
        standings = compare_rankers(
            source.places,
            ranker,
            measures,
            convention,
            baseline=baseline,
            seed=seed,
            scale=scale,
            search=not no_search,
            on_progress=show,
            **parts.options,
            **vars(work),
            category_limit=categories.category_limit,
            category_buckets=categories.category_buckets,
            **source.options,
        )
    _report(standings, report, plot, printer)


def _report(standings: Standings, report: Path | None, plot: Path | None, printer: Printer) -> None:
    from rankloop.experiments.report import write_report
    from rankloop.experiments.report_tables import tables
    from rankloop.plotting.compare import plot_standings
    from rankloop.plotting.figures import save_figure

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
