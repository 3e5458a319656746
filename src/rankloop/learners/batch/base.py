"""The batch contract: rounds over a whole data set, watched on a validation set."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop.exceptions import DataError, RankloopError
from rankloop.learners.base import Ranker, training_data
from rankloop.learners.forms import Anything, Names, Whole
from rankloop.learners.parameters import check_whole
from rankloop.metrics.conventions import as_convention
from rankloop.metrics.evaluation import evaluate
from rankloop.metrics.measures import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Rows
    from rankloop.learners.forms import Form
    from rankloop.metrics.measures import Measure


@dataclass(frozen=True)
class Round:
    """What one round of training reached.

    number : from 1
    objective : what is made small on the training data
    valid : the measure on the validation set, or None
    best : whether no earlier round was better on it
    """

    number: int
    objective: float
    valid: float | None
    best: bool


class BatchRanker(Ranker):
    """A ranker that learns from a whole data set, round after round.

    A subclass says how it starts (:meth:`_reset`, extended), how it improves (:meth:`_rounds`), how
    it scores (:meth:`_score_rows`) and what it learns (`_arrays`). It has the parameters

    metric : what is measured on the validation set after each round
    convention : of that measure, where the subclass has this parameter; else `standard`
    patience : with a validation set, stop after so many rounds without a better one and keep the
        best; None: go on to the end
    warm_start : `fit` goes on from what was learnt, rather than from nothing

    Weights are counts: a document of weight 2 counts as if it stood twice in its query, a query of
    weight 2 as if it stood twice in the data. Unjudged documents (grade below 0) and queries with
    fewer than two grades teach nothing, and cost nothing.

    Attributes
    ----------
    rounds_ : rounds learnt, those after the best one left out
    feature_names_ : of the training data; none where it has no names
    """

    metric: str | Measure
    convention: str = "standard"
    patience: int | None
    warm_start: bool
    rounds_: int
    feature_names_: Sequence[str]

    _arrays: ClassVar[tuple[str, ...]] = ()
    """Names of the arrays that, with the counters, are all that has been learnt."""

    follows_path: ClassVar[bool] = False
    """Whether the solution for one setting is a good start for the next (convex objectives)."""

    def _check(self, data: QueryDataset) -> None:
        """Raise, before anything changes, where a parameter, a grade or a weight cannot be used."""

    @abstractmethod
    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        """Improve the model; give the objective after each round, the model being whole then.

        What was learnt before a round is never changed in place, but replaced: others may see it.
        `data` holds only what teaches: judged documents of queries with two grades or more, and
        weights above 0. Go on from what the model knows.
        """

    def _taught(self, data: QueryDataset) -> QueryDataset:
        """Return what :meth:`_rounds` is given; for a subclass that leaves out rows by itself."""
        return teaching(data)

    def _scorer(self, X: Rows, offsets: Offsets) -> Callable[[], NDArray[Any]]:
        """Return what scores rows after each round; for a subclass that need not start anew."""
        return lambda: self._score_rows(X, offsets)

    def _snapshot(self) -> dict[str, Any]:
        """Return what :meth:`_restore` needs to go back to this round, `rounds_` among it."""
        return copy.deepcopy(self.learnt())

    def _restore(self, snapshot: dict[str, Any]) -> None:
        for name, value in snapshot.items():
            setattr(self, name, value)

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.queries_ = self.rounds_ = 0
        self.feature_names_ = ()

    def learnt(self) -> dict[str, Any]:
        """Return everything that was learnt, by attribute; nothing before `fit`."""
        if not self.is_learnt:
            return {}
        names = ("n_features_in_", "queries_", "rounds_", "feature_names_", *self._arrays)
        return {name: getattr(self, name) for name in names}

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "rounds_": Whole(),
            "feature_names_": Names(n_features),
            **dict.fromkeys(self._arrays, Anything()),
        }

    @abstractmethod
    def explain(self) -> list[dict[str, Any]]:
        """Return the parts of the model, most important first, with the features they look at."""

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        valid: QueryDataset | None = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Self:
        """Learn from a data set. An interrupt leaves the model as the last round left it.

        Other threads rank by what it was before until all is done, or with `on_round` until the
        first round is.

        Parameters
        ----------
        X : a QueryDataset, or a matrix of features with
        y : one grade a row (below 0: unjudged), and
        qid : one query id a row, in any order; or
        group : the number of rows of each query. Without either, all rows are one query.
        sample_weight, query_weight : one a row; one a query, in order of first appearance
        valid : choose the best round on this data
        on_round : called after each round, to show progress
        """
        check_whole("patience", 1 if self.patience is None else self.patience)
        metric = parse(self.metric)
        as_convention(self.convention)
        data = training_data(
            X, y, qid, group, sample_weight, query_weight, allow_nan=self.takes_nan
        )
        with self._writing:
            new = self._twin()
            new._refuse_missing(data)
            new._check(data)
            if not (new.warm_start and new.is_learnt):
                new._reset(data.n_features)
            new._check_width(data.X)
            if valid is not None:
                new._check_width(valid.X)
                check_measurable(valid, metric, new.convention)
            new.queries_, new.feature_names_ = data.n_queries, data.feature_names or ()
            whole: Self | None = None
            try:
                for _ in new._run(data, valid, metric, on_round):
                    whole = new._twin()
                    if on_round is not None:  # who watches sees what each round leaves
                        self._become(whole)
            except BaseException as error:
                if whole is not None and not isinstance(error, RankloopError):
                    whole._end_early()
                    self._become(whole)
                raise
            self._become(new)
        return self

    def _run(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        metric: Measure,
        on_round: Callable[[Round], None] | None,
    ) -> Iterator[None]:
        """Take round after round; pause when each is done."""
        if valid is not None:
            valid = valid.shuffled(np.random.default_rng(0))  # ties must not know the file's order
            score = self._scorer(valid.X, valid.offsets)
        best, kept = -np.inf, self._snapshot()
        for objective in self._rounds(self._taught(data)):
            self.rounds_ += 1
            yield
            reached = None
            if valid is not None:
                reached = float(evaluate(valid, score(), metric, self.convention)[str(metric)])
            better = reached is None or reached > best
            if reached is not None and better:
                best, kept = reached, self._snapshot()
            if on_round is not None:
                on_round(Round(self.rounds_, objective, reached, better))
            if valid is not None and self._is_exhausted(kept["rounds_"]):
                break
        if valid is not None and self.patience is not None:
            self._restore(kept)

    def _end_early(self) -> None:
        """Put in order what an interrupt leaves after a whole round; for a subclass that must."""

    def fit_path(
        self,
        data: QueryDataset,
        settings: Iterable[Mapping[str, Any]],
        *,
        valid: QueryDataset | None = None,
    ) -> Iterator[Self]:
        """Give one fitted copy a setting; where it helps, each starts from the one before."""
        last: Self | None = None
        for setting in settings:
            start = copy.deepcopy(last if last is not None and self.follows_path else self)
            warm = start is not self and last is not None and self.follows_path
            last = start.set_params(**setting, warm_start=warm).fit(data, valid=valid)
            last.warm_start = self.warm_start
            yield last

    def feature_name(self, feature: int) -> str:
        """Return the name of a feature, or its number from 1 as LETOR files count."""
        return self.feature_names_[feature] if self.feature_names_ else str(feature + 1)

    def _is_exhausted(self, best_round: int) -> bool:
        return self.patience is not None and self.rounds_ - best_round >= self.patience


def teaching(data: QueryDataset) -> QueryDataset:
    """Leave out what teaches nothing: unjudged documents, weights of 0, queries of one grade.

    >>> from rankloop.data.dataset import QueryDataset
    >>> teaching(QueryDataset.from_arrays(np.eye(5), [1, -1, 0, 2, 2], group=[3, 2]))
    QueryDataset(1 query, 2 documents, 5 features, grades 0 to 1)
    """
    rows = teaching_rows(data)
    return data if rows.all() and data.sizes.all() else data.keep(rows)


def teaching_rows(data: QueryDataset) -> NDArray[np.bool_]:
    """Return which documents :func:`teaching` keeps."""
    query = np.repeat(np.arange(len(data)), data.sizes)
    keep = data.y >= 0
    if data.doc_weights is not None:
        keep &= data.doc_weights > 0
    if data.query_weights is not None:
        keep &= (data.query_weights > 0)[query]
    highest, lowest = np.full(len(data), -np.inf), np.full(len(data), np.inf)
    np.maximum.at(highest, query[keep], data.y[keep])
    np.minimum.at(lowest, query[keep], data.y[keep])
    return np.asarray(keep & (highest > lowest)[query])


def check_measurable(valid: QueryDataset, metric: Measure, convention: str) -> None:
    """Raise where a measure has no value on the validation data: no round would be the best."""
    if np.isnan(evaluate(valid, np.zeros(valid.n_documents), metric, convention)[str(metric)]):
        raise DataError(
            f"{metric} has no value on the validation data: none of its {len(valid):,} queries has "
            "a relevant document; give other data"
        )


def refuse_document_weights(ranker: BatchRanker, data: QueryDataset) -> None:
    """Raise where documents have weights: a measure of whole rankings has no place for them."""
    if data.doc_weights is not None and np.ptp(data.doc_weights) > 0:
        raise DataError(
            f"{type(ranker).__name__} optimises a measure of whole rankings, which knows no "
            "document weights; use query weights, or leave them out"
        )
