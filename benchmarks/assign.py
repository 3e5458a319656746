"""The assignment behind a subset-ranking update, beside SciPy's solver on the full matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.harness import Contender, Report, Settings, interleave
from rankloop.rankers.predtron.problems.subset_ranking import SubsetRanking

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Query = tuple[NDArray[np.float64], NDArray[np.float64]]

SIZES = {10: 200, 50: 50, 200: 10, 1000: 1}  # documents: queries in a round
GRADES = {"2 grades": [0.8, 0.2], "5 grades": [0.52, 0.32, 0.13, 0.02, 0.01]}  # as in MSLR-WEB


def run(settings: Settings) -> Report:
    report = Report("assign", "Loss-augmented ranking, f = -i^1.1: documents to positions")
    problem = SubsetRanking("-i^1.1")
    sizes = [10, 50] if settings.quick else list(SIZES)
    contenders = []
    for m in sizes:
        for name, shares in GRADES.items():
            queries = [query(m, shares, seed) for seed in range(SIZES[m])]
            work = f"{len(queries)} x {m} documents, {name}"
            contenders += [
                Contender(f"Predtron, {work}", each(problem.decode_augmented, queries)),
                Contender(
                    f"SciPy, {work}",
                    each(lambda t, y: scipy_decode(problem, t, y), queries),
                    against=f"Predtron, {work}",
                ),
            ]
            off = max(abs(value(problem, t, y) - value(problem, t, y, True)) for t, y in queries)
            report.hold(f"largest difference of optima, {work}", off, 1e-9, at_least=False)
    report.timings = interleave(contenders, settings.repeat)
    for name in GRADES:
        work = f"{SIZES[200]} x 200 documents, {name}"
        report.hold(
            f"SciPy / Predtron, {work}", report.ratio(f"SciPy, {work}", f"Predtron, {work}"), 10
        )
    report.notes.append(
        "SciPy: linear_sum_assignment of the full matrix; both from scores and grades"
    )
    return report


def query(m: int, shares: list[float], seed: int) -> Query:
    rng = np.random.default_rng([m, len(shares), seed])
    grades = rng.choice(len(shares), m, p=shares).astype(np.float64)
    return 0.1 * rng.normal(size=m) + 0.03 * grades, grades


def each(decode: Callable[..., object], queries: list[Query]) -> Callable[[], None]:
    def body() -> None:
        for scores, grades in queries:
            decode(scores, grades)

    return body


def scipy_decode(
    problem: SubsetRanking, scores: NDArray[np.float64], grades: NDArray[np.float64]
) -> NDArray[np.int64]:
    m = len(scores)
    profit = np.outer(scores, problem.positions(m))
    profit -= np.outer(problem.gains(grades), problem.discounts(m))
    return linear_sum_assignment(profit, maximize=True)[1]


def value(
    problem: SubsetRanking,
    scores: NDArray[np.float64],
    grades: NDArray[np.float64],
    scipy: bool = False,
) -> float:
    found = (
        scipy_decode(problem, scores, grades) if scipy else problem.decode_augmented(scores, grades)
    )
    gained = problem.gains(grades) @ problem.discounts(len(scores))[found]
    return float(problem.represent(found) @ scores - gained)
