"""Boosted trees: our objectives beside LightGBM's own, time and memory a tree."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np

import rankloop as rl
from benchmarks.data import web_search
from benchmarks.harness import Contender, Report, Settings, interleave
from benchmarks.memory import in_fresh_process, resident

NATIVE, DEFAULT = "LightGBM rank_xendcg", "LightGBM rank_xendcg, its own settings"
OURS = {
    "XENDCGBoost, random gamma": rl.XENDCGBoost,
    "XENDCGBoost, gamma 1": lambda **options: rl.XENDCGBoost(1.0, **options),
    "XENDCGBoost, tight gamma": lambda **options: rl.XENDCGBoost("tight", **options),
    "ListNetBoost": rl.rankers.ListNetBoost,
}
LEAVES, LEAST = 255, 50
ALIKE = {"deterministic": True, "force_col_wise": True, "num_threads": 1}
OPTIONS: dict[str, Any] = {
    "leaves": LEAVES,
    "min_data_in_leaf": LEAST,
    "params": {"num_threads": 1},
}


class Growing:
    """A ranker in the middle of `fit`: each call grows some trees more."""

    def __init__(self, ranker: Any, data: rl.QueryDataset, trees: int) -> None:
        ranker._check(data)
        ranker._reset(data.n_features)
        self.ranker, self.trees, self.rounds = ranker, trees, ranker._rounds(data)
        next(self.rounds)

    def __call__(self) -> None:  # noqa: D102
        for _ in range(self.trees):
            next(self.rounds)


class Native:
    """LightGBM's own loop, as a user writes it."""

    def __init__(self, data: rl.QueryDataset, trees: int, **params: Any) -> None:
        import lightgbm as lgb

        settings = {
            "objective": "rank_xendcg",
            "num_leaves": LEAVES,
            "min_data_in_leaf": LEAST,
            "learning_rate": 0.05,
            "verbosity": -1,
            "metric": "none",
            **params,
        }
        train = lgb.Dataset(data.X, data.y, group=data.sizes)
        self.booster, self.trees = lgb.Booster(settings, train), trees

    def __call__(self) -> None:  # noqa: D102
        for _ in range(self.trees):
            self.booster.update()


def run(settings: Settings) -> Report:
    queries, trees = (60, 2) if settings.quick else (5833, 2)
    data = web_search(queries)
    report = Report("boost", f"A tree of {LEAVES} leaves on {data.n_documents:,} x 136, one thread")
    contenders = [
        Contender(NATIVE, Native(data, trees, **ALIKE), share=trees),
        Contender(DEFAULT, Native(data, trees, num_threads=1), share=trees),
    ]
    for name, make in OURS.items():
        growing = Growing(make(trees=10_000, **OPTIONS), data, trees)
        contenders.append(Contender(name, growing, against=NATIVE, share=trees))
    report.timings = interleave(contenders, settings.repeat)
    for name in OURS:
        ratio = report.ratio(name, NATIVE, "cpu")
        report.hold(f"{name} / {NATIVE}, CPU", ratio, 1.15, at_least=False)
    del contenders, data
    usual = in_fresh_process("benchmarks.boost", "peak", NATIVE, queries).result
    for name in OURS:
        more = in_fresh_process("benchmarks.boost", "peak", name, queries).result - usual
        what = f"{name}: memory beyond {NATIVE}, in copies of the scores"
        report.hold(what, more / (8 * 120 * queries), 1, at_least=False)
    report.notes.append(f"{NATIVE} needs {usual / 1e6:.0f} MB beside the features")
    return report


def peak(name: str, queries: int) -> int:
    """Return the bytes that growing three trees needs beside the features.

    Every twentieth query has one grade: it teaches nothing, which must not cost a copy of others.
    """
    data = web_search(queries)
    data.y[np.repeat(np.arange(queries) % 20 == 0, data.sizes)] = 0
    gc.collect()
    forget = Path("/proc/self/clear_refs")
    if forget.exists():
        forget.write_text("5")  # the highest size so far
    before = resident("VmRSS")
    if name == NATIVE:
        Native(data, 3, **ALIKE)()
    else:
        OURS[name](trees=3, **OPTIONS).fit(data)
    return resident("VmHWM") - before
