"""A fuzzer of the table readers: damaged Parquet, Arrow, CSV and JSON files, read in every way.

Real files of many kinds are damaged: bits flipped, ends cut off, ranges swapped, doubled, deleted
or set to zero, whole column chunks exchanged, numbers in the metadata and words of text replaced.
Each reading must end in a data set that passes its own checks or in an error of ours. A crash of
the process, an exception of another library, and a reading that takes longer than a minute are
faults.

    python -m benchmarks.fuzz_tables --inputs 20000
    python -m benchmarks.fuzz_tables --seed 1 --only 4711  # one input again, with its traceback

A seed and a number make an input. Inputs are read in child processes, since a fault may be a crash.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import rankloop as rl
from benchmarks.table_damage import damaged, sources

CHUNK = 500  # inputs that a child process reads
SECONDS = 60  # for one input
MEMORY = 6 << 30  # address space of a child


def read_one(path: str, rng: np.random.Generator) -> str:
    """Read a file in one of the ways there are; tell how it ended, or raise what is a fault."""
    options: dict[str, Any] = {"memory_limit": "256MB"}
    way = int(rng.integers(4))
    if way:
        options["allow_nan"] = bool(rng.integers(2))
    try:
        if way == 0:
            parts = [rl.read(path, **options)]
        elif way == 1:
            parts = [rl.read_table(path, **options)]
        elif way == 2:
            features = ["bm25"] if rng.random() < 0.5 else None
            parts = [rl.read_table(path, features=features, label="label", **options)]
        else:
            parts = list(
                rl.data.iter_table(path, batch_rows=int(rng.choice([1, 20, 1000])), **options)
            )
    except rl.RankloopError as error:
        return type(error).__name__
    for part in parts:
        checked = rl.QueryDataset(*(getattr(part, name) for name in part.__dataclass_fields__))
        if checked.has_missing and way and not options["allow_nan"]:  # `read` allows them
            raise AssertionError("a data set has missing values that were not allowed")
    return "a data set"


def run(seed: int, numbers: range, state: Path | None = None) -> dict[str, int]:
    """Read inputs in this process; `state` is a file for the number of the one at hand."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    files = sources()
    ends: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            if state is not None:
                state.write_text(str(number))
            rng = np.random.default_rng([seed, number])
            name, data = damaged(files, rng)
            path = Path(folder, name)
            path.write_bytes(data)
            signal.alarm(SECONDS)
            ends[read_one(str(path), rng)] += 1
            path.unlink()
    signal.alarm(0)
    return dict(ends)


def run_in_children(seed: int, inputs: int) -> int:
    """Read inputs in child processes, tell how they ended, and return the number of faults."""
    root = Path(__file__).resolve().parent.parent
    ends: collections.Counter[str] = collections.Counter()
    faults = done = 0
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, "number")
        while done < inputs:
            numbers = [str(done), str(min(done + CHUNK, inputs))]
            command = [sys.executable, "-m", "benchmarks.fuzz_tables", "--seed", str(seed)]
            child = subprocess.run(
                [*command, "--child", *numbers, str(state)],
                env={**os.environ, "PYTHONPATH": str(root)},
                capture_output=True,
                text=True,
                check=False,
            )
            if child.returncode == 0:
                ends.update(json.loads(child.stdout.splitlines()[-1]))
                done = int(numbers[1])
                continue
            faults += 1
            at = int(state.read_text())
            why = (child.stderr.strip().splitlines() or ["no message"])[-1]
            print(f"FAULT: --seed {seed} --only {at}: exit {child.returncode}: {why}", flush=True)
            done = at + 1  # what its child read before it is not counted below
    shown = ", ".join(f"{count:,} {how}" for how, count in ends.most_common())
    print(f"{inputs:,} inputs, seed {seed}: {faults} faults; {shown}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="read this input alone, and show what it raises")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.only is not None:
        print(run(chosen.seed, range(chosen.only, chosen.only + 1)))
    elif chosen.child is not None:
        first, end, state = chosen.child
        print(json.dumps(run(chosen.seed, range(int(first), int(end)), Path(state))))
    else:
        return int(run_in_children(chosen.seed, chosen.inputs) > 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
