"""`rankloop reproduce`: run the experiments of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.progress import progress_bar, read_command_line
from rankloop.cli.tables import Printer

if TYPE_CHECKING:
    from rankloop.experiments.papers.declaration import Experiment, Setting
    from rankloop.experiments.papers.runner import Reproduction


@takes_groups
def reproduce(
    printer: Printer,
    experiments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Which experiments, or `all`; see --list."),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    data: Annotated[
        list[str],
        typer.Option(
            "--data",
            help="Folder that holds data sets by name, or NAME=FOLDER; repeat. Also RANKLOOP_DATA.",
            metavar="DIR",
        ),
    ] = [],
    quick: Annotated[
        bool, typer.Option("--quick", help="Run with few queries, in seconds.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write JSON, Markdown and pictures here; resume from here.",
            callback=o.check_with(o.check_output_folder),
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="Write one page about this run, .html.",
            callback=o.check_with(o.check_page),
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials", min=2, help="Run at most this many trials (the page shows the number)."
        ),
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Run experiments of the papers, and compare the results with the published ones."""
    from rankloop.experiments.papers.declaration import Setting
    from rankloop.experiments.papers.page import write_page

    if list_all or not experiments:
        _list(printer)
        return
    reproductions = _run(_choose(experiments), Setting(quick, seed, trials), data, out)
    if report is not None:
        write_page(reproductions, report, read_command_line())
    if printer.json:
        printer.records([reproduction.to_dict() for reproduction in reproductions])
        return
    for reproduction in reproductions:
        _show(reproduction, printer)
        if reproduction.reason and not quick:
            printer.note(f"Why some are far: {reproduction.reason}\n")


def _choose(names: list[str]) -> list[Experiment]:
    from rankloop.experiments.papers import EXPERIMENTS

    if names == ["all"]:
        return list(EXPERIMENTS.values())
    for name in names:
        if name not in EXPERIMENTS:
            hint = o.did_you_mean(name, list(EXPERIMENTS))
            raise typer.BadParameter(f"unknown experiment {name!r}{hint}; see --list")
    return [EXPERIMENTS[name] for name in names]


def _run(
    experiments: list[Experiment], setting: Setting, data: list[str], out: Path | None
) -> list[Reproduction]:
    """Run experiments one after the other; write each of them as soon as it is finished."""
    from rankloop.experiments.papers import EXPERIMENTS
    from rankloop.experiments.papers.report import write, write_index
    from rankloop.experiments.papers.runner import run

    reproductions = []
    whole, before = sum(experiment.seconds for experiment in experiments), 0.0
    with progress_bar("reproducing") as show:
        for experiment in experiments:

            def share(
                _: str, done: float, first: float = before, size: float = experiment.seconds
            ) -> None:
                show((first + done * size) / whole)

            reproduction = run(experiment, setting, data, out and out / "parts", share)
            before += experiment.seconds
            if out is not None:
                write(reproduction, out)
            reproductions.append(reproduction)
    if out is not None:
        write_index(out, EXPERIMENTS.values())
    return reproductions


def _show(reproduction: Reproduction, printer: Printer) -> None:
    counts = ", ".join(f"{n} {verdict}" for verdict, n in reproduction.count().items() if n)
    rows = [
        [c.part, c.name, c.ours, c.spread or None, c.expected, str(c.verdict), c.data]
        for c in reproduction.comparisons
        if c.ours is not None
    ]
    missing = dict.fromkeys((c.part, c.why) for c in reproduction.comparisons if c.ours is None)
    rows += [[part, "", None, None, None, "not run", why] for part, why in missing]
    printer.table(
        ["part", "value", "ours", "±", "published", "verdict", "data"],
        rows,
        f"{reproduction.experiment.id}: {reproduction.experiment.source}. {counts}",
    )


def _list(printer: Printer) -> None:
    from rankloop.experiments.papers import EXPERIMENTS

    rows = [
        {
            "id": e.id,
            "source": e.source,
            "paper": e.paper,
            "shows": e.shows,
            "values": sum(len(part.expected) for part in e.parts),
            "seconds": e.seconds,
        }
        for e in EXPERIMENTS.values()
    ]
    if not printer.records(rows):
        columns = ["id", "source", "shows", "values", "seconds"]
        printer.table(columns, ([row[column] for column in columns] for row in rows))
