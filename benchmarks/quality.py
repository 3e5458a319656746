"""Quality beside the tools people use: `python -m benchmarks.quality DATA [--out FOLDER]`.

DATA holds MQ2008, OHSUMED, MSLR-sample, LightGBM-lambdarank and Expedia. Each system is trained on
the training part of five folds, stops early or is tuned on the validation part, and is measured on
the test part: nDCG@10 by the standard convention, documents shuffled. All models have at most 500
trees and one thread. *with ranks* means: with the rank of each value inside its query as a further
column, which the blend makes for itself. *tuned* means: the best of `--trials` settings on the
validation part, the first of which are the documented ones, the others Optuna's. Rankers of ours
are trained once more on training and validation data (`refit`), which peers do not offer: `blend,
without refit` shows what that brings.

Every cell (collection, fold, system) is kept in FOLDER: a run that was stopped goes on, and the
tables come from what is there. Times are processor seconds of training, which other work on the
machine hardly changes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before the libraries are loaded

import argparse
import json
import math
import multiprocessing
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import rankloop as rl
from benchmarks.quality_data import FOLDS, SETS, folds
from benchmarks.quality_systems import (
    METRIC,
    PEERS,
    PEERS_WITH_RANKS,
    SYSTEMS,
    AppendResult,
    best_of,
)
from rankloop.data.io.replacing import replace_when_done
from rankloop.measures.significance import paired_t

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

    Values = NDArray[np.float64]

BEST = "blend"


class Task(NamedTuple):
    """The cells of one fold of a collection."""

    folder: Path
    name: str
    fold: int
    systems: tuple[str, ...]
    trials: int
    out: Path

    def file(self, system: str) -> Path:
        """Return where a cell is kept."""
        trials = f" of {self.trials}" if SYSTEMS[system][1] else ""
        return self.out / f"{self.name}.{self.fold + 1}.{system.replace(':', '-')}{trials}.json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out/quality"))
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--trials", type=int, default=5, help="of each search (default: 5)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    shared = tuple(chosen.systems), chosen.trials, chosen.out
    tasks = [Task(chosen.data, name, k, *shared) for k in range(FOLDS) for name in chosen.sets]
    if chosen.jobs > 1:
        with multiprocessing.get_context("spawn").Pool(chosen.jobs, maxtasksperchild=1) as pool:
            for _ in pool.imap_unordered(run, tasks):
                pass
    else:
        for task in tasks:
            run(task)
    print(tables(read(tasks)))


def run(task: Task) -> None:
    """Fill the cells of one fold."""
    warnings.simplefilter("ignore")
    missing = [system for system in task.systems if not task.file(system).exists()]
    parts = folds(task.folder, task.name)[task.fold] if missing else None
    for system in missing:
        assert parts is not None
        found, is_tuned = SYSTEMS[system]
        outcome = (
            best_of(found, parts, task.trials)
            if is_tuned
            else found.train(*parts, found.documented)
        )
        cell = cell_of(parts[2], outcome)
        with replace_when_done(task.file(system)) as partial:
            partial.write_text(json.dumps(cell))
        mean = np.nanmean(np.array(cell["values"], np.float64))
        print(f"{task.name} {task.fold + 1} {system}: {mean:.4f}", flush=True)


def cell_of(test: QueryDataset, outcome: AppendResult) -> dict[str, Any]:
    values = rl.evaluate(test, outcome.test, METRIC).results[0].values
    return {
        "values": [None if np.isnan(value) else float(value) for value in values],
        "seconds": outcome.seconds,
    }


def read(tasks: list[Task]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the cells of all folds by collection and system; only systems with every fold."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for task in tasks:
        for system in task.systems:
            cells = found.setdefault(task.name, {}).setdefault(system, [])
            if task.file(system).exists():
                cells.append(json.loads(task.file(system).read_text()))
    return {
        name: {system: cells for system, cells in of.items() if len(cells) == FOLDS}
        for name, of in found.items()
    }


def tables(found: dict[str, dict[str, list[dict[str, Any]]]]) -> str:
    """Return the tables of quality, of the blend beside its peers, and of time."""
    values = {name: {s: pooled(cells) for s, cells in of.items()} for name, of in found.items()}
    names = [name for name in values if values[name]]
    systems = [s for s in SYSTEMS if any(s in values[name] for name in names)]
    head = f"| | {' | '.join(names)} |\n|---|{'---:|' * len(names)}"
    quality, seconds = [f"{METRIC}\n\n{head}"], [f"\nSeconds of training, all folds\n\n{head}"]
    for system in systems:
        cells = [shown(values[name], system) for name in names]
        quality.append(f"| {system} | {' | '.join(cells)} |")
        times = [
            f"{sum(cell['seconds'] for cell in found[name][system]):.0f}"
            if system in found[name]
            else "-"
            for name in names
        ]
        seconds.append(f"| {system} | {' | '.join(times)} |")
    peers = {s for s in SYSTEMS if s.removesuffix(", tuned") in PEERS}
    compared = [
        compare(values, names, one, peers) for one in (BEST, "blend, without refit", "auto")
    ]
    if any(s in PEERS_WITH_RANKS for s in systems):
        compared.append(compare(values, names, BEST, {*PEERS_WITH_RANKS}, " with ranks"))
    return "\n".join([*quality, *compared, *seconds])


def pooled(cells: list[dict[str, Any]]) -> Values:
    """Return the values of all queries that have one."""
    values = np.array([value for cell in cells for value in cell["values"]], np.float64)
    return values[~np.isnan(values)]


def error(values: Values) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def shown(of: dict[str, Values], system: str) -> str:
    if system not in of:
        return "-"
    text = f"{of[system].mean():.4f} ± {error(of[system]):.4f}".replace("0.", ".")
    return f"**{text}**" if of[system].mean() == max(v.mean() for v in of.values()) else text


def compare(
    values: dict[str, dict[str, Values]],
    names: list[str],
    ours: str,
    peers: set[str],
    kind: str = "",
) -> str:
    """Return how far one system is from the best peer of each collection, and over all.

    Over all, the mean of the collections' differences is compared with its standard error.
    """
    lines = [f"\n{ours}, against the best peer{kind} of each collection\n"]
    lines += ["| | best peer | difference | p |", "|---|---|---:|---:|"]
    means, errors = [], []
    for name in names:
        of = values[name]
        trained = [s for s in of if s in peers]
        if ours not in of or not trained:
            continue
        best = max(trained, key=lambda s: of[s].mean())
        gain = of[ours] - of[best]
        p = paired_t(of[ours], of[best])
        lines.append(f"| {name} | {best} | {gain.mean():+.4f} ± {error(gain):.4f} | {p:.3f} |")
        means.append(float(gain.mean()))
        errors.append(error(gain))
    if means:
        mean, spread = np.mean(means), math.sqrt(sum(e * e for e in errors)) / len(errors)
        p = math.erfc(abs(mean) / spread / math.sqrt(2))
        lines.append(f"| all | | {mean:+.4f} ± {spread:.4f} | {p:.2g} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
