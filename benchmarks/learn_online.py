"""Online learning: one pass beside one `X @ w`, and pairs a second beside peers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import blas

import rankloop as rl
from benchmarks.data import web_search
from benchmarks.harness import Contender, Report, Settings, attempt, interleave, optional

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

SLAM, SOLAR_I, PRODUCT = "Slam, one pass", "SolarI, one pass", "X @ w"
ALONE, HALF = "X @ w, one thread", "Slam, half the queries"
SOLAR_II, PLAIN = "SolarII, 60 queries", "plain SOLAR-II, 60 queries"
ONE = "Slam.learn, 1,000 queries of 40 x 46"
PAIRS = "SolarI, pairs of 40 queries"
CALLS = 1000


def run(settings: Settings) -> Report:
    raw = web_search(60 if settings.quick else 6000)
    data = rl.data.RobustLog().fit(raw).transform(raw)
    few, fewer = data.select(slice(0, 60)), data.select(slice(0, 6))
    rng = np.random.default_rng(0)
    w = rng.standard_normal(data.n_features).astype(np.float32)
    x, y = rng.random((40, 46), dtype=np.float32), rng.integers(0, 3, 40).astype(np.float64)
    report = Report("learn_online", f"Learning from {data.n_documents:,} documents, and from pairs")

    def learn_one_by_one() -> None:
        ranker = rl.Slam("nDCG@10")
        for _ in range(CALLS):
            ranker.learn(x, y)

    some, half = data.select(slice(0, 40)), data.select(slice(0, len(data) // 2))
    contenders = [
        Contender(SLAM, lambda: rl.Slam("nDCG@10").fit(data)),
        Contender(SOLAR_I, lambda: rl.SolarI().fit(data)),
        Contender(PRODUCT, lambda: data.X @ w, against=SLAM),
        Contender(ALONE, on_one_thread(lambda: data.X @ w), against=SLAM),
        Contender(HALF, lambda: rl.Slam("nDCG@10").fit(half), against=SLAM, share=0.5),
        Contender(SOLAR_II, lambda: rl.SolarII().fit(few)),
        Contender(
            PLAIN,
            lambda: plain_solar_ii(fewer),
            against=SOLAR_II,
            share=0.1,
            note="the paper's formulas, a pair at a time, with BLAS (dsymv, dsyr); on a tenth",
        ),
        Contender(ONE, learn_one_by_one),
        Contender(PAIRS, lambda: rl.SolarI().fit(some)),
        *peers(some, report),
    ]
    report.timings = interleave(contenders, settings.repeat)
    report.hold(f"{SLAM} / {PRODUCT}", report.ratio(SLAM, PRODUCT), 1.3, at_least=False)
    report.hold(f"{SLAM} / {ALONE}", report.ratio(SLAM, ALONE), 1.3, at_least=False)
    report.hold(f"{SLAM} / {HALF}", report.ratio(SLAM, HALF), 1.1, at_least=False)
    report.hold(f"{SOLAR_I} / {PRODUCT}", report.ratio(SOLAR_I, PRODUCT), 15, at_least=False)
    report.hold(f"{PLAIN} / {SOLAR_II}", report.ratio(PLAIN, SOLAR_II), 3)
    one = report[ONE]
    report.hold(
        "microseconds a call of Slam.learn", one and 1e6 * one.best / CALLS, 15, at_least=False
    )
    for peer, bound in (("Vowpal Wabbit", 20), ("river", 1000), ("scikit-learn", 50)):
        report.hold(f"{peer} / {PAIRS}", report.ratio(peer, PAIRS), bound)
    return report


def on_one_thread(body: Callable[[], object]) -> Callable[[], object]:
    """Keep BLAS to one thread, as a pass of Slam is."""
    from threadpoolctl import threadpool_limits

    def limited() -> object:
        with threadpool_limits(1):
            return body()

    return limited


def differences(data: QueryDataset) -> list[NDArray[np.float32]]:
    """Return the pair differences of each query, better less worse."""
    found = []
    for query in data:
        i, j = np.nonzero(query.y[:, None] > query.y[None, :])
        found.append(query.X[i] - query.X[j])
    return found


def plain_solar_ii(data: QueryDataset, gamma: float = 1e4) -> NDArray[np.float64]:
    d = data.n_features
    covariance, w = np.asfortranarray(np.eye(d)), np.zeros(d)
    for query in data:
        rows = query.X.astype(np.float64)
        for i, j in zip(*np.nonzero(query.y[:, None] > query.y[None, :]), strict=True):
            delta = rows[i] - rows[j]
            margin = w @ delta
            if margin < 1:
                moved = blas.dsymv(1.0, covariance, delta)
                beta = delta @ moved + gamma
                w += (1 - margin) / beta * moved
                covariance = blas.dsyr(-1 / beta, moved, a=covariance, overwrite_a=1)
    return w


def peers(data: QueryDataset, report: Report) -> list[Contender]:
    """Give the same pairs as each peer takes them."""
    pairs = differences(data)
    n = sum(map(len, pairs))
    report.notes.append(f"{n:,} pairs of 40 queries, 136 features; peers learn from a part of them")
    found = []
    if linear := optional("sklearn.linear_model", report):

        def sklearn() -> None:
            model = linear.SGDClassifier(loss="hinge", learning_rate="pa1", eta0=1e-5)
            for delta in pairs[:10]:
                both = np.vstack([delta, -delta])
                model.partial_fit(both, np.repeat([1, -1], len(delta)), classes=[-1, 1])

        note = (
            "SGDClassifier.partial_fit of a query's differences, both signs (it needs two classes)"
        )
        share = sum(map(len, pairs[:10])) / n
        found.append(Contender("scikit-learn", sklearn, against=PAIRS, share=share, note=note))
    if river := optional("river.linear_model", report):
        rows = [dict(enumerate(row.tolist())) for row in pairs[0][:500]]

        def learn_dicts() -> None:
            model = river.PAClassifier(C=1e-5, mode=2)
            for row in rows:
                model.learn_one(row, True)

        note = "PAClassifier.learn_one of differences as dictionaries"
        share = len(rows) / n
        found.append(Contender("river", learn_dicts, against=PAIRS, share=share, note=note))
    if vw := optional("vowpalwabbit", report):
        lines = [
            "1 | " + " ".join(f"{k}:{v:.6g}" for k, v in enumerate(row) if v)
            for row in np.vstack(pairs[:4])[:4000]
        ]
        space = vw.Workspace("--loss_function hinge --quiet")
        examples = [space.parse(line) for line in lines]

        def learn_examples() -> None:
            for example in examples:
                space.learn(example)

        note = "Workspace.learn of examples parsed before"
        share = len(lines) / n
        found.append(
            Contender("Vowpal Wabbit", learn_examples, against=PAIRS, share=share, note=note)
        )
    return [c for contender in found for c in attempt(contender, report)]
