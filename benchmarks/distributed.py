"""Learning on worker processes, over TCP: `python -m benchmarks.distributed [--rows N]`.

MSLR-like rows (136 features) are written as Parquet files of whole queries. One process without
Dask, and clusters of 1, 2 and 4 workers, learn from them. Shown: wall-clock time without starting
the cluster, the highest resident memory of a worker (and of the process that it starts for trees),
and whether the models are equal. With `--kills`, a worker is killed at a random moment of each of
so many further runs on two workers.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.large import batches
from benchmarks.memory import in_fresh_process, resident
from rankloop.data.io.formats import read
from rankloop.data.io.table import write_table
from rankloop.data.joining import concat
from rankloop.distributed import Parts, connect, fit
from rankloop.learners.registry import make_learner

LEARNERS = ("xendcg", "slam", "newton", "lambdamart:trees=20,leaves=31")


def one_process(folder: str, learner: str) -> dict[str, Any]:
    """Learn from all files in this process."""
    start = time.perf_counter()
    model = make_learner(learner).fit(read(folder))
    return {"seconds": time.perf_counter() - start, "score": _weights(model)}


def _weights(model: Any) -> Any:
    weights = getattr(model, "weights_", None)
    return None if weights is None else weights.tolist()


def used() -> tuple[int, int]:
    """Return the highest resident memory of this worker, and of the processes that it started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return resident("VmHWM"), children


def write_parts(folder: Path, rows: int, parts: int) -> None:
    whole = concat(list(batches(rows)))
    step = -(-len(whole) // parts)
    for k in range(parts):
        write_table(whole.select(slice(k * step, (k + 1) * step)), folder / f"part-{k:04}.parquet")


def killed(client: Any, after: float, rng: random.Random) -> threading.Timer:
    """Kill a worker after some seconds."""
    pid = rng.choice(sorted(client.run(os.getpid).values()))

    def now() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(after, now)
    timer.start()
    return timer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--learners", nargs="*", default=LEARNERS)
    parser.add_argument("--kills", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write_parts(Path(name), chosen.rows, chosen.parts)
        size = sum(file.stat().st_size for file in Path(name).iterdir())
        print(f"{chosen.rows:,} rows in {chosen.parts} files, {size / 2**20:,.0f} MB", flush=True)
        for learner in chosen.learners:
            alone = in_fresh_process("benchmarks.distributed", "one_process", name, learner)
            took = alone.result["seconds"]
            print(
                f"{learner}: one process {took:.1f} s, peak {alone.peak / 2**20:,.0f} MB",
                flush=True,
            )
            for count in chosen.workers:
                with connect(f"local:{count}") as client:
                    start = time.perf_counter()
                    model = fit(make_learner(learner), Parts(client, name))
                    seconds = time.perf_counter() - start
                    own, child = map(max, zip(*client.run(used).values(), strict=True))
                print(
                    f"{learner}: {count} workers {seconds:.1f} s ({seconds / took:.2f} of one "
                    f"process), peak of a worker {own / 2**20:,.0f} MB, of what it started "
                    f"{child / 2**20:,.0f} MB, model {model.digest()[:12]}", flush=True,
                )  # fmt: skip
        if chosen.kills:
            kill_runs(name, chosen.learners, chosen.kills)


def kill_runs(folder: str, learners: list[str], kills: int) -> None:
    """Kill a worker at a random moment of a run; each run has a new cluster."""
    rng = random.Random(0)
    for learner in learners:
        with connect("local:2") as client:
            start = time.perf_counter()
            expected = fit(make_learner(learner), Parts(client, folder)).digest()
            whole = time.perf_counter() - start
        same = struck = 0
        for _ in range(kills):
            with connect("local:2") as client:
                timer = killed(client, rng.uniform(0, whole), rng)
                same += fit(make_learner(learner), Parts(client, folder)).digest() == expected
                struck += timer.finished.is_set()
                timer.cancel()
        print(
            f"{learner}: the same model in {same} of {kills} runs; in {struck} of them the worker "
            "was killed before the end",
            flush=True,
        )


if __name__ == "__main__":
    main()
