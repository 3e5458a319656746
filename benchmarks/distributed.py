"""Learning on worker processes, over TCP: `python -m benchmarks.distributed [--rows N]`.

MSLR-like rows (136 features) are written as Parquet files of whole queries, one after the other, so
that there may be more of them than fit into memory. One process without Dask converts them to a
mapped file and learns from it; clusters of 1, 2 and 4 workers learn from the Parquet files. Shown:
wall-clock time without starting the cluster, processor time, the highest resident memory of a
worker (and of the process that it starts for trees), nDCG@10 on unseen queries, and the model.
`--again` runs every cluster twice. With `--kills`, a worker is killed at a random moment of each of
so many further runs on two workers, each on a new cluster.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import random
import resource
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.large import batches, unseen
from benchmarks.memory import in_fresh_process, resident
from rankloop.data.io.formats import read_batches
from rankloop.data.io.mapped import read_mapped
from rankloop.data.io.mapped_write import write_mapped
from rankloop.data.io.tables.writing import write_table
from rankloop.distributed import Parts, connect, fit
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.boosting.base import BoostedRanker
from rankloop.rankers.registry import make_ranker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.data.dataset import QueryDataset

RANKERS = ("xendcg", "slam", "newton", "lambdamart:trees=10,leaves=31")
_PART_ROWS = 250_000  # of 136 features: 136 MB in memory


def write_parts(folder: Path, rows: int, parts: int) -> None:
    """Write rows to Parquet files; one batch is in memory at a time."""
    each = -(-rows // parts)
    steps = -(-each // 60_000)
    made = batches(math.inf, -(-each // steps))
    for k in range(parts):
        few = (next(made) for _ in range(steps))
        write_table(few, folder / f"part-{k:04}.parquet")


def convert(folder: str, target: str) -> float:
    """Write all files as one mapped file; return the seconds that it took."""
    start = time.perf_counter()
    write_mapped(_all_batches(folder), target)
    return time.perf_counter() - start


def _all_batches(folder: str) -> Iterator[QueryDataset]:
    for file in sorted(Path(folder).iterdir()):
        yield from read_batches(file)


def one_process(mapped: str, ranker: str) -> dict[str, Any]:
    """Learn from a mapped file, in this process."""
    start, cpu = time.perf_counter(), time.process_time()
    model = make_ranker(ranker).fit(read_mapped(mapped))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {
        "seconds": seconds,
        "cpu": cpu,
        "weights": _weights(model),
        "ndcg": quality(model),
        "digest": model.digest(),
    }


def _weights(model: Any) -> Any:
    weights = getattr(model, "weights_", None)
    return None if weights is None else weights.tolist()


def quality(model: Any) -> float:
    """Return nDCG@10 on unseen queries."""
    data = unseen()
    return evaluate(data, model.predict(data))["nDCG@10"]


def used() -> tuple[float, int, int]:
    """Return processor seconds of this worker and of the processes that it started, and peaks."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return cpu, resident("VmHWM"), children.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--parts", type=int, help="by default one for 250,000 rows, at least 8")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--rankers", nargs="*", default=RANKERS)
    parser.add_argument("--again", action="store_true", help="run every cluster twice")
    parser.add_argument("--kills", type=int, default=0)
    chosen = parser.parse_args()
    parts = chosen.parts or max(8, chosen.rows // _PART_ROWS)
    with tempfile.TemporaryDirectory() as name:
        folder, mapped = Path(name, "parts"), str(Path(name, "all.rlds"))
        folder.mkdir()
        write_parts(folder, chosen.rows, parts)
        size = sum(file.stat().st_size for file in folder.iterdir())
        _say(f"{chosen.rows:,} rows in {parts} files, {size / 2**20:,.0f} MB")
        if chosen.workers:
            made = in_fresh_process("benchmarks.distributed", "convert", str(folder), mapped)
            _say(
                f"converted to a mapped file of {Path(mapped).stat().st_size / 2**20:,.0f} MB in "
                f"{made.result:.0f} s, {made.cpu:.0f} s of processor time, peak "
                f"{made.peak / 2**20:,.0f} MB"
            )
            for ranker in chosen.rankers:
                beside_one_process(ranker, str(folder), mapped, chosen.workers, chosen.again)
            Path(mapped).unlink()
        if chosen.kills:
            kill_runs(str(folder), chosen.rankers, chosen.kills)


def beside_one_process(
    ranker: str, folder: str, mapped: str, workers: list[int], again: bool
) -> None:
    """Learn in one process, and on clusters of so many workers."""
    alone = in_fresh_process("benchmarks.distributed", "one_process", mapped, ranker)
    one = alone.result
    _say(
        f"{ranker}: one process {one['seconds']:.0f} s, {one['cpu']:.0f} s of processor time, "
        f"peak {alone.peak / 2**20:,.0f} MB with pages of the file, nDCG@10 {one['ndcg']:.4f}, "
        f"model {one['digest'][:12]}"
    )
    for count in workers:
        for _ in range(2 if again else 1):
            with connect(f"local:{count}") as client:
                start = time.perf_counter()
                before = sum(row[0] for row in client.run(used).values())
                model = fit(make_ranker(ranker), Parts(client, folder))
                seconds = time.perf_counter() - start
                cpu, own, child = zip(*client.run(used).values(), strict=True)
            apart = ""
            if one["weights"] is not None:
                weights = np.array(one["weights"])
                apart = np.abs(weights - model.weights_).max() / np.abs(weights).max()
                apart = f", weights within {apart:.1e} of the largest"
            _say(
                f"{ranker}: {count} workers {seconds:.0f} s, {sum(cpu) - before:.0f} s of "
                f"processor time, peak of a worker {max(own) / 2**20:,.0f} MB, of what it started "
                f"{max(child) / 2**20:,.0f} MB, nDCG@10 {quality(model):.4f}, model "
                f"{model.digest()[:12]}{apart}"
            )


def kill_runs(folder: str, rankers: list[str], kills: int) -> None:
    """Kill a worker at a random moment of each run; each run has a new cluster."""
    rng = random.Random(0)
    for ranker in rankers:
        with connect("local:2") as client:
            expected = learn(client, ranker, folder).digest()
            start = time.perf_counter()
            learn(client, ranker, folder)
            whole = time.perf_counter() - start
        same = struck = 0
        for _ in range(kills):
            after = rng.uniform(0, whole)
            with connect("local:2") as client, killing(client, after, rng) as dead:
                found = learn(client, ranker, folder).digest()
                struck += dead.is_set()
            same += found == expected
            _say(f"{ranker}: killed after {after:.1f} s; so far {struck} struck, {same} the same")
        _say(
            f"{ranker}: the same model in {same} of {kills} runs; in {struck} of them the worker "
            f"was killed before the end; a run without a fault took {whole:.1f} s"
        )


def learn(client: Any, name: str, folder: str) -> Any:
    """Learn from all files on two workers, or on what is left of them."""
    ranker = make_ranker(name)
    more: dict[str, Any] = {"machines": 2} if isinstance(ranker, BoostedRanker) else {}
    return fit(ranker, Parts(client, folder), **more)


@contextlib.contextmanager
def killing(client: Any, after: float, rng: random.Random) -> Iterator[threading.Event]:
    """Kill a worker after some seconds; the event tells that it was killed."""
    pid = rng.choice(sorted(client.run(os.getpid).values()))
    dead = threading.Event()

    def now() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            dead.set()

    timer = threading.Timer(after, now)
    timer.start()
    try:
        yield dead
    finally:
        timer.cancel()
        timer.join()


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
