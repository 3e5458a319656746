"""nDCG@10 and AP of 720,000 documents in 6,000 queries, beside one `X @ w` and other evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.data import web_search
from benchmarks.harness import Contender, Report, Settings, attempt, interleave, optional
from rankloop.measures.evaluation import evaluate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

OURS = "rankloop"
PRODUCT = "X @ w"
PRODUCT_NOTE = "NumPy's, with as many threads as its BLAS takes: one pass over the float32 features"


def run(settings: Settings) -> Report:
    data = web_search(60 if settings.quick else 6000)
    rng = np.random.default_rng(1)
    scores = (data.y + 1.5 * rng.standard_normal(len(data.y))).astype(np.float32)
    w = rng.standard_normal(data.X.shape[1]).astype(np.float32)
    report = Report(
        "measure",
        f"nDCG@10 and AP of {len(data.y):,} documents in {len(data):,} queries",
        work=len(data.y) / 1e6,
        unit="million/s",
    )
    _show_ours(data, scores, report)
    contenders = [
        Contender(OURS, lambda: evaluate(data, scores, ["nDCG@10", "AP"])),
        Contender(PRODUCT, lambda: data.X @ w, against=OURS, note=PRODUCT_NOTE),
        *_pytrec_eval(data, scores, report),
        *_sklearn(data, scores, report),
        *_ranx(data, scores, report),
    ]
    report.timings = interleave(contenders, settings.repeat)
    for peer, bound in ((PRODUCT, 1), ("pytrec-eval", 20), ("scikit-learn", 20), ("ranx", 1)):
        report.hold(f"{peer} / {OURS}", report.ratio(peer, OURS), bound)
    return report


def _show(report: Report, who: str, ndcg: float, ap: float) -> None:
    report.notes.append(f"values of {who}: nDCG@10 {ndcg:.6f}, AP {ap:.6f}")


def _show_ours(data: QueryDataset, scores: NDArray[np.float32], report: Report) -> None:
    """Show our values under each convention that a peer follows."""
    for convention in ("standard", "lightgbm", "sklearn"):
        found = evaluate(data, scores, ["nDCG@10", "AP"], convention)
        _show(report, f"rankloop, convention {convention}", found["nDCG@10"], found["AP"])


def _nested(data: QueryDataset, values: NDArray[Any]) -> dict[str, dict[str, Any]]:
    """{query: {document: value}}, as evaluators of runs want it."""
    table = {}
    for query, (begin, end) in enumerate(zip(data.offsets, data.offsets[1:], strict=False)):
        listed = values[begin:end].tolist()
        table[f"q{query}"] = {f"d{i}": value for i, value in enumerate(listed)}
    return table


def _pytrec_eval(
    data: QueryDataset, scores: NDArray[np.float32], report: Report
) -> list[Contender]:
    if not (pytrec_eval := optional("pytrec_eval", report)):
        return []
    qrels, ranked = _nested(data, data.y.astype(int)), _nested(data, scores.astype(float))
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map"})
    found = evaluator.evaluate(ranked).values()
    means = [float(np.mean([query[m] for query in found])) for m in ("ndcg_cut_10", "map")]
    _show(report, "pytrec-eval (linear gain)", *means)
    note = "dictionaries and evaluator prepared before; the mean over queries is left to the user"
    return [Contender("pytrec-eval", lambda: evaluator.evaluate(ranked), against=OURS, note=note)]


def _sklearn(data: QueryDataset, scores: NDArray[np.float32], report: Report) -> list[Contender]:
    if not (metrics := optional("sklearn.metrics", report)):
        return []
    grades, ranked = data.y.reshape(len(data), -1), scores.reshape(len(data), -1)
    relevant = grades > 0

    def both() -> tuple[float, float]:
        return (
            metrics.ndcg_score(grades, ranked, k=10),
            metrics.label_ranking_average_precision_score(relevant, ranked),
        )

    _show(report, "scikit-learn (linear gain)", *both())
    note = "ndcg_score and label_ranking_average_precision_score, queries as rows of one matrix"
    return attempt(Contender("scikit-learn", both, against=OURS, note=note), report)


def _ranx(data: QueryDataset, scores: NDArray[np.float32], report: Report) -> list[Contender]:
    if not (ranx := optional("ranx", report)):
        return []
    qrels = ranx.Qrels(_nested(data, data.y.astype(int)))
    ranked = ranx.Run(_nested(data, scores.astype(float)))

    def both() -> dict[str, float]:
        return ranx.evaluate(qrels, ranked, ["ndcg_burges@10", "map"])

    try:
        found = both()
    except Exception as error:  # a peer's fault is a line in the report
        report.notes.append(f"left out: ranx ({type(error).__name__}: {error})")
        return []
    _show(report, "ranx (gain 2^r - 1)", found["ndcg_burges@10"], found["map"])
    note = "Qrels and Run prepared before, Numba's compilation in the warm-up"
    return [Contender("ranx", both, against=OURS, note=note)]
