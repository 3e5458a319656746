"""Streams without an end: the means so far, in constant memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rankloop.measures.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.online.base import OnlineRanker


@dataclass
class LiveStream:
    """Rankers on a stream that is read once, in batches.

    The documents of each batch are shuffled, ranked and measured before the rankers learn from
    them, as in :func:`rankloop.experiments.progressive.progressive`; only sums are kept.
    """

    rankers: Mapping[str, OnlineRanker]
    measures: Sequence[Measure]
    conventions: Sequence[str]
    rng: np.random.Generator
    queries: int = 0
    sums: dict[tuple[str, str, str], float] = field(default_factory=dict)
    counts: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def observe(self, batch: QueryDataset) -> None:
        """Rank, measure and learn from one batch of whole queries."""
        batch = batch.shuffled(self.rng)
        for name, ranker in self.rankers.items():
            scores = ranker.predict_then_learn(batch)
            for convention in self.conventions:
                for result in evaluate(batch, scores, self.measures, convention):
                    key = (name, str(result.measure), convention)
                    self.sums[key] = self.sums.get(key, 0.0) + float(np.nansum(result.values))
                    self.counts[key] = self.counts.get(key, 0) + result.queries
        self.queries += len(batch)

    def to_dicts(self) -> list[dict[str, object]]:
        """Return the means so far, in the form of :meth:`Stream.to_dict`."""
        return [
            {
                "ranker": name,
                "measure": measure,
                "convention": convention,
                "mean": total / self.counts[key] if self.counts[key] else None,
                "std": 0.0,
                "permutations": 1,
            }
            for key, total in self.sums.items()
            for name, measure, convention in [key]
        ]
