"""A new ranker: one class, and it streams, compares, saves, loads and serves like all others.

The idea: remember the average good document and the average bad one, each with less weight the
older it is, and score along the line between them. The checks that our own rankers pass say
whether the class keeps its promises.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from collection import parts

import rankloop as rl
from rankloop._utils.arithmetic import (  # the same bits on every processor
    row_pairs,
    row_scores,
    total,
)
from rankloop.checks import checks_for
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.search import OneOf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.data.dataset import Query


class FadingMeans(OnlineRanker):
    """Scores along the difference of the mean good and the mean bad document, old ones fading.

    Parameters
    ----------
    keep : how much of the old means each query keeps, from 0 to 1
    """

    search_space: ClassVar[dict[str, Any]] = {"keep": OneOf((0.9, 0.99, 0.999))}
    traits = replace(OnlineRanker.traits, is_robust=False)  # a single outlier can dominate a mean
    _learns: ClassVar[Sequence[str]] = ("direction_",)

    def __init__(self, keep: float = 0.99, passes: int = 1, random_state: int | None = None):
        self.keep = keep
        self.passes = passes
        self.random_state = random_state

    def _reset(self, n_features: int) -> None:
        self.n_features_in_, self.n_queries_seen_ = n_features, 0
        self.direction_ = np.zeros(n_features)

    def _learn_query(self, query: Query) -> None:
        y = query.y[query.y >= 0]  # below 0: not judged
        if len(y) == 0 or y.min() == y.max():
            return  # nothing to compare
        pull = y - total(y) / len(y)
        pull = pull / total(np.abs(pull))
        step = row_pairs(pull[np.newaxis], query.X[query.y >= 0].T.astype(float))[0]
        self.direction_ = self.keep * self.direction_ + step  # a new array: others may read

    def _score_rows(self, X: np.ndarray, offsets: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Return the scores of rows."""
        return row_scores(X, self.direction_)


def main() -> None:
    """Check it, name it, try it beside others."""
    checks = list(checks_for(FadingMeans()))
    for check in checks:
        check(FadingMeans())
    print(f"{len(checks)} checks passed")

    rl.register_ranker("fading-means", FadingMeans)  # from now on known by this name
    train, _, test = parts()
    data = rl.data.QueryMinMax().fit(train).transform(train)
    rankers = {n: rl.make_ranker(n) for n in ("fading-means", "fading-means:keep=0.9", "slam")}
    for stream in rl.stream(data, rankers, "nDCG@10", permutations=3, seed=0):
        print(f"{stream.ranker:22} {stream.mean:.4f} online")
    model = rl.Prepared(FadingMeans(), maps=["minmax", "rank"]).fit(train)
    again = rl.loads(model.dumps())
    reached = rl.evaluate(test, again.predict(test), "nDCG@10")["nDCG@10"]
    print(f"with ranks inside the query, saved and loaded: {reached:.4f} on test data")


if __name__ == "__main__":
    main()
