"""Measure a model on parts: each worker scores and measures the queries that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.measures.conventions import as_convention
from rankloop.measures.evaluation import Evaluation, Result
from rankloop.measures.evaluation import evaluate as evaluate_scores
from rankloop.measures.measure import parse_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.distributed.parts import Parts
    from rankloop.distributed.progress import OnProgress
    from rankloop.measures.conventions import Convention
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Ranker


def evaluate(
    ranker: Ranker,
    parts: Parts,
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    convention: str | Convention = "standard",
    *,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Measure a model on parts; the result is the same as on one machine, bit for bit.

    Only one number per query and measure, and the weights of the queries, come to this process.
    """
    wanted, rules = parse_all(measures), as_convention(convention)
    names = [str(measure) for measure in wanted]
    measured = parts.map(_measure, ranker, names, rules, what="measuring", on_progress=on_progress)
    tables = [table for table, _ in measured]
    weights = None
    if any(weight is not None for _, weight in measured):
        weights = np.concatenate(
            [np.ones(t.shape[1]) if weight is None else weight for t, weight in measured]
        )
    values = np.concatenate(tables, axis=1)
    return Evaluation(
        tuple(Result(m, rules.name, row, weights) for m, row in zip(wanted, values, strict=True))
    )


def _measure(
    data: QueryDataset, ranker: Ranker, measures: list[str], rules: str | Convention
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    if not data.n_documents:
        return np.zeros((len(measures), 0)), None
    evaluation = evaluate_scores(data, ranker.predict(data), measures, rules)
    return np.array([result.values for result in evaluation]), data.query_weight
