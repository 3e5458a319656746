"""Kernels: one pass of KeepRank in bounded memory beside one kernel matrix of scikit-learn's."""

from __future__ import annotations

import numpy as np

import rankloop as rl
from benchmarks.harness import Contender, Report, Settings, interleave, optional
from benchmarks.memory import in_fresh_process

PASS, MATRIX = "KeepRank, one pass", "scikit-learn, the matrix alone"
SLAM, LINEAR = "KernelSlam, budget 1,000", "Slam"
FEATURES = "Nystrom features, 200"
LIMIT = "64MB"
SHAPE = (16_140, 45)  # of OHSUMED


def run(settings: Settings) -> Report:
    n = 1500 if settings.quick else SHAPE[0]
    data = as_ohsumed(n)
    report = Report("kernels", f"An RBF kernel over {n:,} documents of {SHAPE[1]} features")
    contenders = [
        Contender(PASS, lambda: keeprank(LIMIT).fit(data)),
        Contender(LINEAR, lambda: rl.Slam().fit(data)),
        Contender(SLAM, lambda: rl.KernelSlam("rbf(1)", budget=1000).fit(data)),
        Contender(FEATURES, lambda: rl.rankers.KernelFeatures("nystrom(rbf(1),200)").fit(data.X)),
    ]
    if pairwise := optional("sklearn.metrics.pairwise", report):
        contenders.append(
            Contender(
                MATRIX,
                lambda: pairwise.rbf_kernel(data.X, gamma=0.5),
                against=PASS,
                note="rbf_kernel of the same float32 rows",
            )
        )
    report.timings = interleave(contenders, settings.repeat)
    report.hold(f"{PASS} / {MATRIX}", report.ratio(PASS, MATRIX), 2, at_least=False)
    peak = in_fresh_process("benchmarks.kernels", "one_pass", n).peak
    report.hold(f"{PASS}: peak memory in MB, limit 64", peak / 2**20, 64, at_least=False)
    report.notes.append(f"the matrix itself takes {4 * n**2 / 2**20:,.0f} MB in float32")
    return report


def keeprank(limit: str) -> rl.KeepRank:
    return rl.KeepRank("rbf(1)", passes=1, memory_limit=limit)


def one_pass(n: int) -> int:
    """Learn in a process of its own; the data, 3 MB, counts too."""
    return keeprank(LIMIT).fit(as_ohsumed(n)).rounds_


def as_ohsumed(n: int, seed: int = 0) -> rl.QueryDataset:
    """Make data of OHSUMED's size: lists of 152 documents, features from 0 to 1, grades 0 to 2."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, SHAPE[1]), dtype=np.float32)
    y = rng.choice(3, n, p=[0.7, 0.15, 0.15]).astype(np.float64)
    sizes = [152] * (n // 152)
    return rl.QueryDataset.from_arrays(X, y, group=[*sizes, n - sum(sizes)])
