"""Training on a file that is larger than the memory: `python -m benchmarks.large [--rows N]`.

The file is a mapped data set of MSLR-like rows (136 features). A fresh process learns from it with
at most a quarter of its size as memory: RLIMIT_DATA is set to what the process has, plus a quarter
of the file, and the peak of resident memory, which includes pages of the file, is measured. Another
process reads the whole file into memory first, and learns in the same way. Both run in turns.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.memory import in_fresh_process
from rankloop.data.dataset import QueryDataset
from rankloop.data.io.mapped import read_mapped
from rankloop.data.io.mapped_write import write_mapped
from rankloop.data.simulate import mslr_like
from rankloop.rankers.registry import make_ranker

if TYPE_CHECKING:
    from collections.abc import Iterator

RANKERS = ("slam", "xendcg")
_FEATURES, _LENGTH, _ROWS = 136, 120, 60_000


def batches(rows: float, batch: int = _ROWS) -> Iterator[QueryDataset]:
    """Yield whole queries, about `rows` rows: noisy copies of some simulated ones, with new ids."""
    made = simulated(0, batch)
    rng = np.random.default_rng(1)
    done = copy = 0
    while done < rows:
        ids = made.query_ids + copy * len(made)
        noise = rng.standard_normal(made.X.shape, dtype=np.float32)
        yield QueryDataset(made.X * (1 + noise / 20), made.y, made.offsets, ids)
        done, copy = done + made.n_documents, copy + 1


def unseen() -> QueryDataset:
    """Return queries of the same kind, of which no batch has copies."""
    return simulated(_ROWS // _LENGTH, _ROWS)


def simulated(first: int, rows: int) -> QueryDataset:
    """Return about `rows` rows of simulated queries from number `first` on."""
    end = first + max(rows // _LENGTH, 1)
    rng = np.random.default_rng(0)
    made = mslr_like(end, rng, n_features=_FEATURES).data.select(slice(first, end))
    X = np.sign(made.X) * np.log1p(np.abs(made.X))
    return QueryDataset(X.astype(np.float32), made.y, made.offsets, made.query_ids)


def learn(path: str, name: str, limit: int | None) -> dict[str, Any]:
    """Learn from a mapped file, in place or, without a limit, from a copy in memory."""
    data, ranker = read_mapped(path), make_ranker(name)
    if limit is None:
        whole = np.array(data.X)
        data = QueryDataset(whole, data.y, data.offsets, data.query_ids)
    else:
        now = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (now + limit, now + limit))
    start = os.times()
    model = ranker.fit(data)
    end = os.times()
    return {
        "seconds": end.elapsed - start.elapsed,
        "cpu": end.user + end.system - start.user - start.system,
        "digest": model.digest(),
        "weights": model.weights_.tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=2)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.rlds")
        write_mapped(batches(chosen.rows), path)
        size = path.stat().st_size
        print(f"file {size / 2**20:,.0f} MB", flush=True)
        for ranker in RANKERS:
            mapped, memory = [], []
            limit = size // 4
            for _ in range(chosen.repeat):
                for runs, most in ((mapped, limit), (memory, None)):
                    runs.append(
                        in_fresh_process("benchmarks.large", "learn", str(path), ranker, most)
                    )
            one, other = mapped[0].result, memory[0].result
            apart = np.abs(np.subtract(one["weights"], other["weights"])).max()
            for unit in ("seconds", "cpu"):
                best = [min(run.result[unit] for run in runs) for runs in (mapped, memory)]
                print(
                    f"{ranker}: {unit} mapped {best[0]:.2f}, in memory {best[1]:.2f}, "
                    f"ratio {best[0] / best[1]:.2f}"
                )
            peaks = [max(run.peak for run in runs) / 2**20 for runs in (mapped, memory)]
            print(
                f"{ranker}: limit {limit / 2**20:,.0f} MB, peak with pages of the file "
                f"{peaks[0]:,.0f} MB, in memory {peaks[1]:,.0f} MB; "
                f"same bits {one['digest'] == other['digest']}, largest difference of a weight "
                f"{apart:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
