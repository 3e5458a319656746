"""The progress that commands show on a terminal."""

from __future__ import annotations

import math
import shlex
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import ProgressColumn

    from rankloop.distributed.progress import PartsProgress
    from rankloop.experiments.comparison import ComparisonProgress
    from rankloop.experiments.tuning import Trial
    from rankloop.rankers.rounds import Round


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar, if this is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextmanager
def leaderboard(
    names: list[str], passes: int, title: str
) -> Iterator[Callable[[str, float], None]]:
    """Show rankers by their mean so far, best first, while they run, if this is a terminal."""
    from rich import box
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    means: dict[str, list[float]] = {name: [] for name in names}

    def table() -> Table:
        shown = Table("ranker", title, "passes", box=box.SIMPLE_HEAD)
        for name, values in sorted(
            means.items(), key=lambda item: -sum(item[1]) / max(len(item[1]), 1)
        ):
            mean = f"{sum(values) / len(values):.4f}" if values else ""
            shown.add_row(name, mean, f"{len(values)}/{passes}")
        return shown

    with Live(table(), console=Console(stderr=True), transient=True, auto_refresh=False) as live:

        def show(name: str, mean: float) -> None:
            means[name].append(mean)
            live.update(table(), refresh=live.console.is_terminal)

        yield show


def _columns() -> tuple[ProgressColumn, ...]:
    """Return a bar, how many are done, the time so far and the time left, and what is running."""
    from rich import progress as p

    time = (p.TimeElapsedColumn(), p.TextColumn("left:"), p.TimeRemainingColumn())
    running = p.TextColumn("{task.description}", markup=False)
    return p.BarColumn(20), p.MofNCompleteColumn(), *time, running


@contextmanager
def fold_progress() -> Iterator[Callable[[ComparisonProgress], None]]:
    """Show on a terminal what runs, the time left, and the means of the folds that are done."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    running: list[str] = []
    means: dict[str, list[float]] = {}
    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:

        def show(cell: ComparisonProgress) -> None:
            name = f"{cell.ranker} on {cell.fold}"
            if name in running:
                running.remove(name)
            if cell.state == "started":
                running.append(name)
            mean = cell.result.measured[0].mean if cell.result is not None else None
            if mean is not None:
                means.setdefault(cell.ranker, []).append(mean)
            line = describe_progress(cell, running)
            best = sorted(means.items(), key=lambda item: -sum(item[1]) / len(item[1]))
            rows = [f"  {sum(v) / len(v):.4f}  {ranker}  ({len(v)} done)" for ranker, v in best]
            live.update(Text("\n".join([line, *rows])))  # names may have brackets, no markup
            if live.console.is_terminal:
                live.refresh()

        yield show


def describe_progress(cell: ComparisonProgress, running: list[str]) -> str:
    """Return one line: how many parts of a comparison are done, the time left, and what runs."""
    left = "time left unknown" if cell.left is None else f"about {show_seconds(cell.left)} left"
    if cell.untimed:
        left += f", and more for {', '.join(cell.untimed)}"
    now = f": {', '.join(running)}" if running else ""
    return f"{cell.done} of {cell.total} done, {left}{now}"


def show_seconds(seconds: float) -> str:
    """Return a time as text.

    >>> show_seconds(8.2), show_seconds(100), show_seconds(4000)
    ('9 s', '2 min', '1 h 7 min')
    """
    if seconds < 60:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def trials_progress(total: int) -> Iterator[Callable[[Trial, Trial | None], None]]:
    """Show how many trials of a search are done, and the best so far, on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    columns = _columns()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as p:
        task = p.add_task("", total=total)

        def show(trial: Trial, best: Trial | None) -> None:
            text = "" if best is None else f"best {best.value:.4f} {best.setting}"
            p.update(task, completed=trial.number, description=text)

        yield show


@contextmanager
def rounds_progress(measure: str) -> Iterator[Callable[[Round], None]]:
    """Show the last round of training in one line, on a terminal."""
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:

        def show(done: Round) -> None:
            valid = "" if done.valid is None else f"  {measure} {done.valid:.4f}"
            text = f"round {done.number}  objective {done.objective:.6g}{valid}"
            live.update(text + ("  best" if done.best and valid else ""))
            if live.console.is_terminal:
                live.refresh()

        yield show


@contextmanager
def parts_progress() -> Iterator[Callable[[PartsProgress], None]]:
    """Say how many parts of a job on a cluster are done, and the time left, on a terminal."""
    from rich.console import Console

    console = Console(stderr=True)

    def show(done: PartsProgress) -> None:
        if console.is_terminal:
            console.print(f"{done}  ", end="\r", highlight=False)

    yield show


def read_command_line() -> str:
    """Return the command as it was typed."""
    return shlex.join(["rankloop", *sys.argv[1:]])
