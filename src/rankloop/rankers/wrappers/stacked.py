"""A frozen model inside an online ranker: the quality of trees, and live adaptation."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop import _core
from rankloop.exceptions import DataError
from rankloop.rankers.base import Ranker
from rankloop.rankers.batch.base import hold_out
from rankloop.rankers.batch.baselines import Constant
from rankloop.rankers.explaining import with_feature_names
from rankloop.rankers.forms import FittedRanker
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.parameters import check_number, check_rankers
from rankloop.rankers.search import Range, Search
from rankloop.rankers.wrappers.maps import map_names, map_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.rounds import Round
    from rankloop.rankers.traits import Traits

_MAPS = ("minmax", "rank")
_SIZE = np.float32(0.3)  # scale of the frozen score's column; the others go from -0.5 to 0.5


class Stacked(OnlineRanker):
    """An online ranker that starts from a frozen model, and corrects it as it learns.

    `fit` trains the frozen model, such as trees. From then on each query is learnt by second-order
    XE_NDCG (:class:`rankloop.NewtonXENDCG`) on the columns

        [minmax(x) - 1/2, rank(x) - 1/2, 0.3 F],

    where minmax and rank are those of each feature inside the query, and F is the frozen score,
    standardised inside the query. The prior mean of the weights is 0, except for the weight of F,
    which is fitted on validation data. So it begins with the ranking of the frozen model, and
    changes it as it learns from queries. Before `fit` there is no frozen model, F is 0, and
    it learns from the other columns alone.

    Parameters
    ----------
    ranker : what is trained and then frozen, any ranker; default: XE_NDCG trees
    prior : precision of the weights before any data, above 0. Weaker priors than 100 harmed a good
        frozen model on some collections.

    Attributes
    ----------
    frozen_ : the frozen model
    ranker_ : the online ranker

    Notes
    -----
    Cost: scoring by the frozen model, and :class:`NewtonXENDCG` on 2 d + 1 columns. Without
    validation data, `fit` holds every fifth query out of the training of the frozen model. Frozen
    scores of queries that a model was trained on are too good to learn a weight from. `predict`
    needs to know which rows belong to the same query.

    Examples
    --------
    >>> from rankloop.data.simulate import mslr_like
    >>> from rankloop.rankers.batch.xendcg import XENDCG
    >>> data = mslr_like(60, np.random.default_rng(0), n_features=6).data
    >>> ranker = Stacked(XENDCG()).fit(data.select(slice(0, 40)))
    >>> ranker.partial_fit(data.select(slice(40, 60))).n_queries_seen_
    60
    >>> ranker.explain()[0]["feature"]
    'score of XENDCG'
    """

    traits: ClassVar[Traits] = replace(
        OnlineRanker.traits, scores_rows_alone=False, takes_raw_features=True
    )
    search_space: ClassVar[Mapping[str, Search]] = {"prior": Range(30, 1000, 4, log=True)}

    passes = 1  # `fit` leaves the online part at its prior: there is nothing to go through twice
    random_state = None

    frozen_: Ranker
    ranker_: NewtonXENDCG

    def __init__(
        self,
        ranker: Ranker | None = None,
        prior: float = 100.0,
    ) -> None:
        self.ranker = ranker
        self.prior = prior

    @classmethod
    def over(cls, model: Ranker, valid: QueryDataset, **parameters: Any) -> Self:
        """Return a ranker that starts from a trained model.

        Parameters
        ----------
        model : trained; the ranker keeps a copy
        valid : queries that the model was not trained on, from which the weight of its score comes
        parameters : see :class:`Stacked`
        """
        scores = model.predict(valid)
        new = cls(copy.deepcopy(model), **parameters)
        new._check_parameters()
        new._reset(model.n_features_in_)
        new.feature_names_in_ = model.feature_names_in_
        new.query_name_ = model.query_name_
        new._freeze(model.copy(), valid, scores)
        return new

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("prior", self.prior, above=True)
        if self.ranker is not None:
            check_rankers("ranker", [self.ranker], Ranker)

    def _check_queries(self, queries: Queries) -> None:
        NewtonXENDCG()._check_all(queries)

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        self._fresh()._check(data)

    def _state_names(self) -> tuple[str, ...]:
        known = super()._state_names()
        return (*known, "frozen_", "ranker_") if known else ()

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "frozen_": FittedRanker(Ranker, n_features),
            "ranker_": FittedRanker(NewtonXENDCG, 2 * n_features + 1),
        }

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.n_queries_seen_ = 0
        self.frozen_, self.ranker_ = Constant(), NewtonXENDCG(self.prior)
        self.frozen_._reset(n_features)
        self.ranker_._reset(2 * n_features + 1)

    def _fit(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,  # noqa: ARG002 - the frozen model's are not ours
    ) -> Iterator[None]:
        """Train the frozen model, and start the online ranker from it."""
        train, judged = (data, valid) if valid is not None else hold_out(data)
        judged = data if judged is None else judged
        frozen = self._fresh().fit(train, valid=judged)
        self._freeze(frozen, judged, frozen.predict(judged))
        self.n_queries_seen_ = len(data)
        yield

    def _freeze(self, frozen: Ranker, valid: QueryDataset, scores: Scores) -> None:
        """Take in a model; its weight comes from its scores on validation data."""
        self.frozen_ = frozen
        column = _frozen_column(scores, valid.offsets)[:, None]
        slope = NewtonXENDCG(1.0).partial_fit(replace(valid, X=column, feature_names=None))
        weights = np.zeros(2 * self.n_features_in_ + 1)
        weights[-1] = slope.last_weights_[0]
        self.ranker_.last_weights_ = weights

    def _fresh(self) -> Ranker:
        if self.ranker is not None:
            return copy.deepcopy(self.ranker)
        from rankloop.rankers.boosting.xendcg import XENDCGBoost

        return XENDCGBoost()

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        self.ranker_ = self.ranker_.copy()
        columns = self._columns(queries.X, queries.offsets)
        self.ranker_._check_and_learn(queries._replace(X=columns), scores)

    def _discount_past(self, keep: float) -> None:
        self.ranker_ = self.ranker_.copy().discount_past(keep)

    def _merge(self, rankers: Sequence[Self], base: Self) -> None:
        if any(ranker.frozen_.digest() != self.frozen_.digest() for ranker in (*rankers, base)):
            raise DataError("cannot merge rankers that started from different frozen models")
        self.ranker_ = self.ranker_.copy()
        self.ranker_._merge_copies([ranker.ranker_ for ranker in rankers], base.ranker_)

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        return self.ranker_._score_rows(self._columns(X, offsets), offsets)

    def explain(self) -> Parts:
        """Return the weights of the columns, largest first."""
        self._check_fitted()
        names = map_names(_MAPS, self.feature_names_in_, self.n_features_in_)
        frozen = f"score of {type(self.frozen_).__name__}"
        return with_feature_names(self.ranker_, [*names, frozen]).explain()

    def _columns(self, X: Rows, offsets: Offsets) -> Rows:
        columns = np.empty((len(X), 2 * X.shape[1] + 1), np.float32)
        columns[:, :-1] = map_rows(_MAPS, X, offsets)
        columns[:, :-1] -= np.float32(0.5)
        columns[:, -1] = _frozen_column(self.frozen_._score_rows(X, offsets), offsets)
        return columns


def _frozen_column(scores: Scores, offsets: Offsets) -> Rows:
    """Return 0.3 F; the same bits on every processor, as the frozen model's scores are."""
    given = np.ascontiguousarray(scores, np.float64)
    return _SIZE * _core.standardise(given, offsets).astype(np.float32)
