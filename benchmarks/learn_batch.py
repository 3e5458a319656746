"""Batch learning: RankSVM beside LinearSVC on explicit pairs, and its memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rankloop as rl
from benchmarks.data import web_search
from benchmarks.harness import Contender, Report, Settings, attempt, interleave, optional
from benchmarks.learn_online import differences
from benchmarks.memory import in_fresh_process

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

MQ2008, WEB = "RankSVM, MQ2008", "RankSVM, web search"
MQ2008_PAIRS, WEB_PAIRS = "LinearSVC, MQ2008", "LinearSVC, web search"
OTHERS = ("listnet", "xendcg", "ranknet")
LIST = 120


def run(settings: Settings) -> Report:
    n_queries, part = (40, 4) if settings.quick else (834, 42)
    web = web_data(n_queries)
    report = Report("learn_batch", f"RankSVM on {web.n_documents:,} documents, and on MQ2008")
    contenders = [Contender(WEB, lambda: rl.RankSVM(C=1e-5).fit(web))]
    contenders += [
        Contender(f"{type(ranker).__name__}, web search", lambda ranker=ranker: ranker.fit(web))
        for ranker in map(rl.make_ranker, OTHERS)
    ]
    contenders += pairs_of(web, web.select(slice(0, part)), 1e-5, WEB_PAIRS, WEB, report)
    if (letor := mq2008(report)) is not None:
        contenders.append(Contender(MQ2008, lambda: rl.RankSVM(C=1e-3).fit(letor)))
        contenders += pairs_of(letor, letor, 1e-3, MQ2008_PAIRS, MQ2008, report)
    report.timings = interleave(contenders, settings.repeat)
    for theirs, ours in ((WEB_PAIRS, WEB), (MQ2008_PAIRS, MQ2008)):
        report.hold(f"{theirs} / {ours}", report.ratio(theirs, ours), 20)
    hold_memory(n_queries, report)
    return report


def web_data(n_queries: int) -> QueryDataset:
    """Give queries of 120 documents with 136 features, scaled."""
    raw = web_search(n_queries)
    return rl.data.RobustLog().fit(raw).transform(raw)


def mq2008(report: Report) -> QueryDataset | None:
    """Read the training part of MQ2008's first fold, where the folder of real data is there."""
    root = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RANKLOOP_DATA") or root, "MQ2008")
    if not folder.is_dir():
        report.notes.append(f"left out: MQ2008 (not at {folder}; set RANKLOOP_DATA)")
        return None
    return rl.data.letor_folds(folder)[0].read()[0]


def pairs_of(
    whole: QueryDataset, part: QueryDataset, C: float, name: str, ours: str, report: Report
) -> list[Contender]:
    """Give LinearSVC the pairs of a part, after showing that both reach one objective on it."""
    svm = optional("sklearn.svm", report)
    if svm is None:
        return []
    delta = np.vstack(differences(part)).astype(np.float64)
    sign = np.where(np.arange(len(delta)) % 2, 1.0, -1.0)  # it wants two classes
    signed = delta * sign[:, None]
    share = len(delta) / count_pairs(whole)

    def fit() -> NDArray[np.float64]:
        model = svm.LinearSVC(loss="squared_hinge", dual=False, fit_intercept=False, C=C)
        return np.asarray(model.fit(signed, sign).coef_[0])

    reached = {"rankloop": rl.RankSVM(C=C).fit(part).weights_, "LinearSVC": fit()}
    values = {who: objective(C, delta, w) for who, w in reached.items()}
    gap = abs(values["LinearSVC"] / values["rankloop"] - 1)
    shown = ", ".join(f"{who} {value:.8g}" for who, value in values.items())
    report.notes.append(f"objective on {len(delta):,} pairs, C = {C:g}: {shown}")
    report.hold(f"{name}: relative difference of objectives", gap, 1e-4, at_least=False)
    note = f"{len(delta):,} differences, made before and not timed; default tolerance"
    if share < 1:
        needed = (
            len(delta) / share * delta.shape[1] * 24 / 1e9
        )  # the array, and sparse as LIBLINEAR
        note += f"; {share:.1%} of all pairs, which need {needed:.0f} GB; scaled by pairs"
    return attempt(Contender(name, fit, against=ours, share=share, note=note), report)


def count_pairs(data: QueryDataset) -> int:
    return sum(int((q.y[:, None] > q.y[None, :]).sum()) for q in data)


def objective(C: float, delta: NDArray[np.float64], w: NDArray[np.float64]) -> float:
    return float(w @ w / 2 + C * (np.maximum(0, 1 - delta @ w) ** 2).sum())


def hold_memory(n_queries: int, report: Report) -> None:
    """Show that twice the documents need twice the memory, and how much beside the features."""
    peaks = []
    for queries in (n_queries, 2 * n_queries):
        peak, matrix = (
            in_fresh_process("benchmarks.learn_batch", call, queries).peak
            for call in ("make_and_fit", "make")
        )
        peaks.append(max(peak - matrix, 0))
        report.notes.append(
            f"RankSVM on {queries * LIST:,} documents: {peaks[-1] / 1e6:.1f} MB beside the data, "
            f"whose features take {queries * LIST * 136 * 4 / 1e6:.0f}"
        )
    share = peaks[1] / (2 * n_queries * LIST * 136 * 4)
    report.hold("RankSVM: memory over that of the features", share, 0.5, at_least=False)


def make(n_queries: int) -> int:
    """Make features of the size of the data, without the simulation's own memory."""
    return len(_plain(n_queries))


def make_and_fit(n_queries: int) -> int:
    """Make them and learn from them."""
    data = _plain(n_queries)
    return int(rl.RankSVM(C=1e-5).fit(data).rounds_)


def _plain(n_queries: int) -> QueryDataset:
    rng = np.random.default_rng(0)
    n = n_queries * LIST
    X = rng.random((n, 136), dtype=np.float32)
    y = np.floor(5 * X[:, 0] * X[:, 1])
    return rl.QueryDataset(X, y.astype(np.float64), np.arange(0, n + 1, LIST), np.arange(n_queries))
