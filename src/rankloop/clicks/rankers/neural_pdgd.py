"""PDGD for a small neural network."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import row_pairs, tanh
from rankloop.clicks.rankers.plackett_luce import PlackettLuceRanker
from rankloop.data.grouping import one_query
from rankloop.rankers.batch.network import explain_units
from rankloop.rankers.forms import Array
from rankloop.rankers.parameters import check_number, check_seed, check_whole
from rankloop.rankers.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.base import Queries

    Floats = NDArray[np.float64]


class NeuralPDGD(PlackettLuceRanker):
    """PDGD with one layer of hidden units, for targets that no linear ranker can learn.

        s = tanh(X V + b) w

    The rankings, the pairs and their weights are those of :class:`PDGD`; the gradient by the scores
    goes back through the network.

    Parameters
    ----------
    hidden : number of hidden units, at least 1
    rate, decay : see :class:`PDGD`
    seed : of the weights before any data
    passes, random_state : see :class:`OnlineRanker`

    Attributes
    ----------
    weights_ : (hidden,) the weights w
    hidden_weights_, hidden_bias_ : (d, hidden) and (hidden,) V and b

    Notes
    -----
    Cost: O(m d hidden + m^2) per ranking of m candidates. Features are best scaled to about 0 to 1
    query by query. It learns more slowly than the linear ranker, and is useful if no linear
    ranker fits.

    Examples
    --------
    >>> from rankloop.clicks.rankers.base import click_grades
    >>> ranker = NeuralPDGD(hidden=4)
    >>> shown = ranker.show(np.eye(3), id="r1")
    >>> _ = ranker.learn_ranking(shown, click_grades(shown, [False, False, True]))
    >>> ranker.hidden_weights_.shape
    (3, 4)

    References
    ----------
    Oosterhuis and de Rijke, Differentiable unbiased online learning to rank (2018): section 4.
    """

    search_space: ClassVar[Mapping[str, Search]] = {"rate": Range(0.001, 10, 5, log=True)}

    _learns: ClassVar[tuple[str, ...]] = ("weights_", "hidden_weights_", "hidden_bias_")
    weights_: Floats
    hidden_weights_: Floats
    hidden_bias_: Floats

    def __init__(
        self,
        hidden: int = 64,
        rate: float = 0.1,
        decay: float = 0.9999977,
        seed: int = 0,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.hidden = hidden
        self.rate = rate
        self.decay = decay
        self.seed = seed
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("hidden", self.hidden)
        check_number("rate", self.rate, above=True)
        check_number("decay", self.decay, 0, 1, above=True)
        check_seed("seed", self.seed)

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.n_queries_seen_ = 0
        h, rng = self.hidden, np.random.default_rng(self.seed)
        even = n_features + n_features % 2
        inner = _core.unit_directions(rng.random(h * even), h, n_features) if n_features else None
        self.hidden_weights_ = np.zeros((0, h)) if inner is None else inner.T.copy()
        self.hidden_bias_ = np.zeros(h)
        self.weights_ = _core.unit_directions(rng.random(h + h % 2), 1, h)[0]

    def _forms(self, n_features: int) -> dict[str, Form]:
        h = self.hidden
        return {
            **super()._forms(n_features),
            "weights_": Array((h,)),
            "hidden_weights_": Array((n_features, h)),
            "hidden_bias_": Array((h,)),
        }

    def _discount_past(self, keep: float) -> None:
        self.weights_ = self.weights_ * keep

    def explain(self) -> Parts:
        """Return the hidden units with their features, largest first."""
        self._check_fitted()
        names = [self._feature_name(j) for j in range(self.n_features_in_)]
        return explain_units(self.weights_, self.hidden_bias_, self.hidden_weights_, names)

    def _units(self, X: Rows) -> Floats:
        inner = row_pairs(X.astype(np.float64), self.hidden_weights_.T)
        return tanh(inner + self.hidden_bias_)

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:  # noqa: ARG002
        """Score checked rows."""
        return _times(self._units(X), self.weights_)

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        for q in range(queries.n):
            query = queries.one(q)
            if scores is not None:
                first, end = queries.offsets[q : q + 2]
                scores[first:end] = self._score_rows(query.X, query.offsets)
            if len(query.y):
                self._step(query, self.n_queries_seen_ + q)

    def _step(self, query: Queries, done: int) -> None:
        """Learn from one query; `done` queries were learnt before, by which the rate decays."""
        X, units = query.X.astype(np.float64), self._units(query.X)
        slopes = self._slopes(query, _times(units, self.weights_), done)
        # Backpropagation: the gradient at the input of each hidden unit, tanh' being 1 - tanh^2. It
        # is computed before the weights change, because all steps belong to one gradient.
        pull = slopes[:, None] * self.weights_ * (1 - units * units)
        self.weights_ = self.weights_ + _times(units.T, slopes)
        self.hidden_bias_ = self.hidden_bias_ + _times(pull.T, np.ones(len(X)))
        self.hidden_weights_ = self.hidden_weights_ + row_pairs(X.T, pull.T)

    def _slopes(self, query: Queries, scores: Floats, done: int) -> Floats:
        """Return how PDGD would change each score.

        The core knows only linear rankers. With unit vectors as documents, the weights of a linear
        ranker are the scores, so its step is the step of the scores.
        """
        m, moved = len(scores), scores.copy()
        _core.learn_pdgd(
            np.eye(m, dtype=np.float32),
            query.y,
            one_query(m),
            query.sample_weight,
            query.query_weight,
            moved,
            None,
            done,
            None,
            np.zeros(2),
            0.0,
            self.rate,
            self.decay,
            1.0,
            *self._shown,
        )
        return moved - scores


def _times(rows: Floats, w: Floats) -> Floats:
    return np.asarray(row_pairs(rows, w[None, :])[:, 0])
