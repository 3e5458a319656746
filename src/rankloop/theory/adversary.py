"""The adversary of the lower bound: it judges documents after it has seen their ranking."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.simulate_papers import equal_lists
from rankloop.exceptions import DataError
from rankloop.theory.margin import margin
from rankloop.theory.surrogates import check_measure, measure_losses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.measures.measure import Measure
    from rankloop.rankers.online.base import OnlineRanker

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Game:
    """The result of playing the adversary against a ranker.

    Attributes
    ----------
    losses : 1 - measure of each round
    least : the loss that no ranker can avoid in a round
    data : the judged queries
    weights : unit vector that ranks all of them correctly
    margin : its margin, at least the requested gamma
    """

    losses: Floats
    least: float
    data: QueryDataset
    weights: Floats
    margin: float

    @property
    def loss(self) -> float:
        """The cumulative loss."""
        return float(self.losses.sum())

    @property
    def lower_bound(self) -> float:
        """The smallest loss of any deterministic ranker."""
        return self.least * len(self.losses)


class Adversary:
    """Queries whose judgements depend on how they were ranked: the proof of Theorem 9.

    Round t shows R e, -R e and m - 2 times R e_1, e the next unit vector. If the first document is
    ranked first the second is relevant, otherwise the first; so every round is a mistake, at the
    top. Weights of +1 or -1 along each e, and -1 along e_1, rank all right.

    Where we depart: the paper plays floor(R^2/gamma^2) - 1 rounds, but its weights have norm 1/2 or
    less; of unit norm their margin is 2R/sqrt(T + 1). So T + 1 = 4 R^2/gamma^2 rounds fit, and for
    two documents, which need no e_1, T = 4 R^2/gamma^2: exactly the upper bound of Corollary 11.

    Parameters
    ----------
    gamma : the margin to keep, above 0
    n_features : at least 2 (1 for two documents); each round uses one of them
    n_documents : at least 2
    radius : norm of every document
    """

    def __init__(
        self, gamma: float, n_features: int, n_documents: int, radius: float = 1.0
    ) -> None:
        if n_documents < 2 or n_features < 1:
            raise DataError(
                "the adversary needs at least two documents and one feature; "
                f"found {n_documents} and {n_features}"
            )
        if not (0 < gamma < np.inf and 0 < radius < np.inf):
            raise DataError(f"gamma and radius must be above 0; found {gamma} and {radius}")
        self.n_features, self.n_documents, self.radius = n_features, n_documents, radius
        self._reserved = int(n_documents > 2)
        fitting = min(np.floor(4 * radius**2 / gamma**2 * (1 + 1e-12)), n_features)
        self.rounds = int(fitting) - self._reserved
        if self.rounds < 1:
            raise DataError(
                f"not even one round is possible: gamma = {gamma:g} must be at most "
                f"{2 * radius / np.sqrt(1 + self._reserved):g}, and n_features at least "
                f"{1 + self._reserved}; found {n_features}"
            )
        self._signs: list[float] = []

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        """Yield the documents of each round; call :meth:`judge` before the next round."""
        for t in range(self.rounds):
            X = np.zeros((self.n_documents, self.n_features), np.float32)
            X[2:, 0] = self.radius
            X[0, t + self._reserved] = self.radius
            X[1, t + self._reserved] = -self.radius
            yield X

    def judge(self, order: NDArray[np.int64]) -> Floats:
        """Grade the documents of this round, given their rows in rank order."""
        relevant = 1 if order[0] == 0 else 0
        self._signs.append(1.0 if relevant == 0 else -1.0)
        grades = np.zeros(self.n_documents)
        grades[relevant] = 1.0
        return grades

    @property
    def weights(self) -> Floats:
        """The unit vector that ranks every round so far correctly."""
        w = np.zeros(self.n_features)
        w[: self._reserved] = -1.0
        w[self._reserved : self._reserved + len(self._signs)] = self._signs
        norm = float(np.linalg.norm(w))
        return w / norm if norm else w


def play(
    ranker: OnlineRanker,
    gamma: float,
    n_features: int,
    n_documents: int,
    radius: float = 1.0,
    measure: str | Measure = "nDCG",
) -> Game:
    """Play the adversary against a copy of a ranker; ties are broken in row order.

    Parameters
    ----------
    ranker : an unfitted ranker, or one with `n_features` features
    gamma, n_features, n_documents, radius : see :class:`Adversary`
    measure : nDCG, nDCG@k or AP

    Examples
    --------
    >>> from rankloop.rankers.registry import make_ranker
    >>> game = play(make_ranker("minimax"), gamma=0.5, n_features=16, n_documents=2, measure="AP")
    >>> len(game.losses), game.loss, game.margin
    (16, 8.0, 0.5)

    References
    ----------
    Chaudhuri and Tewari, Theorem 9, eq. 25.
    """
    wanted = check_measure(measure)
    player = copy.deepcopy(ranker)
    adversary = Adversary(gamma, n_features, n_documents, radius)
    rows, judged, scored = [], [], []
    for X in adversary:
        # Before it has learnt anything, a ranker gives all documents the same score.
        known = player.is_fitted
        scores = player.predict(X, group=[n_documents]) if known else np.zeros(n_documents)
        grades = adversary.judge(np.argsort(-scores, kind="stable"))
        player.learn(X, grades)
        rows.append(X)
        judged.append(grades)
        scored.append(np.asarray(scores, np.float64))
    data = equal_lists(np.concatenate(rows), np.concatenate(judged), n_documents)
    losses = measure_losses(data, np.concatenate(scored), wanted)
    weights = adversary.weights
    return Game(losses, _least(wanted), data, weights, margin(data, weights))


def _least(measure: Measure) -> float:
    """Return the loss of a ranking whose only relevant document is second."""
    two = QueryDataset.from_arrays(np.zeros((2, 1)), [0, 1], group=[2])
    return float(measure_losses(two, [1.0, 0.0], measure)[0])
