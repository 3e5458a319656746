"""Measure a model on parts: workers score and measure their queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.measures.conventions import as_convention
from rankloop.measures.evaluation import Evaluation, Result
from rankloop.measures.evaluation import evaluate as measured
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

    One number per query and measure comes to this process, with the weights of the queries.
    """
    wanted, rules = parse_all(measures), as_convention(convention)
    names = [str(measure) for measure in wanted]
    found = parts.map(_measure, ranker, names, rules, what="measuring", on_progress=on_progress)
    tables = [table for table, _ in found]
    weights = None
    if any(own is not None for _, own in found):
        own = [np.ones(t.shape[1]) if w is None else w for t, w in found]
        weights = np.concatenate(own)
    values = np.concatenate(tables, axis=1)
    return Evaluation(
        tuple(Result(m, rules.name, row, weights) for m, row in zip(wanted, values, strict=True))
    )


def _measure(
    data: QueryDataset, ranker: Ranker, measures: list[str], rules: str | Convention
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    found = measured(data, ranker.predict(data), measures, rules)
    return np.array([result.values for result in found]), data.query_weight
