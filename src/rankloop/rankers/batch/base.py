"""The base class of batch rankers: rounds over a data set, with early stopping."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop.data.joining import concat
from rankloop.exceptions import DataError
from rankloop.measures.conventions import as_convention
from rankloop.measures.evaluation import evaluate
from rankloop.measures.measure import parse
from rankloop.rankers.base import Ranker
from rankloop.rankers.forms import Whole
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.rounds import Round
from rankloop.rankers.side_by_side import end_if_interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from rankloop._utils.estimator import Estimator
    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.forms import Form


_HELD_OUT = 5


class BatchRanker(Ranker):
    """A ranker that is fitted to a whole data set, in several rounds.

    A subclass defines how it starts (it extends :meth:`_reset`), how it improves (:meth:`_rounds`),
    how it scores (:meth:`_score_rows`) and what it learns (`_learns`). It has these parameters:

    valid_measure : the measure that is computed on the validation set after each round
    convention : the convention of that measure, if the subclass has this parameter; otherwise
        `standard`
    patience : with a validation set, stop after this number of rounds without an improvement, and
        keep the best round; None never stops early
    refit : whether to use all judgements in the end: the validation set gives the number of rounds,
        and then the ranker is trained again with this number on training and validation data
        together. Without a validation set, every fifth query of the training data takes its place.
    warm_start : whether `fit` continues from the current model instead of starting again

    Weights are counts: a document with weight 2 has the same effect as two copies of it in its
    query, and a query with weight 2 the same effect as two copies of the query. Unjudged documents
    (grade below 0) and queries with fewer than two different grades have no effect and take no
    time.

    Attributes
    ----------
    rounds_ : number of rounds in the model; rounds after the best one are not counted
    """

    valid_measure: str | Measure
    convention: str = "standard"
    patience: int | None
    refit: bool = False
    warm_start: bool
    rounds_: int

    follows_path: ClassVar[bool] = False
    """Whether the solution for one setting is a good start for the next one (convex objectives)."""

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        """Improve the model; yield the objective after each round, when the model is consistent.

        Replace the arrays of the model and never change them in place, because other code may hold
        them. `data` contains only documents that have an effect: judged documents, with weights
        above 0, of queries with at least two different grades. Continue from the current model.
        """
        raise NotImplementedError(  # every batch ranker has one of the two
            f"{type(self).__name__} must define _rounds or _fit"
        )

    def _usable_data(self, data: QueryDataset) -> QueryDataset:
        """Return the data for :meth:`_rounds`; override it to leave out rows in another way."""
        return keep_usable(data)

    def _scorer(self, X: Rows, offsets: Offsets) -> Callable[[], Scores]:
        """Return a function that scores rows after each round; override it to score faster."""
        return lambda: self._score_rows(X, offsets)

    def _mark(self) -> dict[str, Any]:
        """Return what :meth:`_go_back` needs to return to this round, including `rounds_`."""
        return copy.deepcopy(self._state())

    def _go_back(self, mark: dict[str, object]) -> None:
        for name, value in mark.items():
            setattr(self, name, value)

    @property
    def _starts_ready(self) -> bool:
        """Whether it ranks before the first round, so that no round at all may be the best."""
        return False

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.n_queries_seen_ = self.rounds_ = 0

    def _state_names(self) -> tuple[str, ...]:
        known = super()._state_names()
        return (*known, "rounds_") if known else ()

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {**super()._forms(n_features), "rounds_": Whole()}

    def _fit(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
    ) -> Iterator[None]:
        """Run the rounds; if asked to, run as many again on training and validation data."""
        if not self.refit:
            yield from self._fit_once(data, valid, on_round)
            return
        if valid is None and self.patience is not None:
            data, valid = hold_out(data)
        if valid is None or self.patience is None:  # there is no number of rounds to find
            whole = data if valid is None else together(data, valid)
            yield from self._fit_once(whole, None, on_round)
            return
        before = self._mark()
        yield from self._fit_once(data, valid, on_round)
        rounds = self.rounds_ - before["rounds_"]
        self._go_back(before)
        self._run_again(data, valid, rounds)
        yield  # only now: an interrupt keeps the rounds that were found

    def _run_again(self, data: QueryDataset, valid: QueryDataset, rounds: int) -> None:
        """Run this number of rounds on training and validation data together."""
        for _ in self._fit_once(together(data, valid), None, None, rounds):
            pass

    def _fit_once(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
        at_most: int | None = None,
    ) -> Iterator[None]:
        self._check_stopping(valid)
        self.n_queries_seen_ = data.n_queries
        rounds = iter(()) if at_most == 0 else self._rounds(self._usable_data(data))
        yield from self._run(rounds, valid, on_round, at_most)

    def _run(
        self,
        rounds: Iterator[float],
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
        at_most: int | None = None,
    ) -> Iterator[None]:
        """Run rounds that improve the model, no more than `at_most`; pause after each one.

        With a validation set, stop early and keep the best round.
        """
        measure = self._check_stopping(valid)
        best, kept = -np.inf, self._mark()
        if valid is not None:
            valid = valid.shuffle(np.random.default_rng(0))  # ties must not depend on row order
            score = self._scorer(valid.X, valid.offsets)
            if self._starts_ready:
                best = float(evaluate(valid, score(), measure, self.convention)[str(measure)])
        last = None if at_most is None else self.rounds_ + at_most
        for objective in rounds:
            end_if_interrupted()
            self.rounds_ += 1
            yield
            if self.rounds_ == last:
                break
            reached = None
            if valid is not None:
                reached = float(evaluate(valid, score(), measure, self.convention)[str(measure)])
            better = reached is None or reached > best
            if reached is not None and better:
                best, kept = reached, self._mark()
            if on_round is not None:
                on_round(Round(self.rounds_, objective, reached, better))
            if valid is not None and self._is_exhausted(kept["rounds_"]):
                break
        if valid is not None and self.patience is not None:
            self._go_back(kept)

    def _check_stopping(self, valid: QueryDataset | None) -> Measure:
        """Return the measure for early stopping; raise if it cannot be computed."""
        check_whole("patience", 1 if self.patience is None else self.patience)
        measure = parse(self.valid_measure)
        as_convention(self.convention)
        if valid is not None:
            check_measurable(valid, measure, self.convention)
        return measure

    def fit_path(
        self,
        data: QueryDataset,
        settings: Iterable[Mapping[str, object]],
        *,
        valid: QueryDataset | None = None,
    ) -> Iterator[Self]:
        """Yield one fitted copy per setting; if it helps, each starts from the previous one."""
        last: Self | None = None
        for setting in settings:
            start = copy.deepcopy(last if last is not None and self.follows_path else self)
            warm = start is not self and last is not None and self.follows_path
            last = start.set_params(**setting, warm_start=warm).fit(data, valid=valid)
            last.warm_start = self.warm_start
            yield last

    def _is_exhausted(self, best_round: int) -> bool:
        return self.patience is not None and self.rounds_ - best_round >= self.patience


def hold_out(data: QueryDataset) -> tuple[QueryDataset, QueryDataset | None]:
    """Return queries to train on, and every fifth query; with fewer than five, all and None.

    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays(np.eye(12), np.ones(12), qid=np.arange(12))
    >>> [len(part) for part in hold_out(data)]
    [10, 2]
    """
    held = np.arange(len(data)) % _HELD_OUT == _HELD_OUT - 1
    if not held.any():
        return data, None
    return data.select(np.flatnonzero(~held)), data.select(np.flatnonzero(held))


def together(data: QueryDataset, valid: QueryDataset) -> QueryDataset:
    """Return training and validation data as one data set; equal query ids stay two queries.

    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays(np.eye(4), [0, 1, 1, 0], group=[2, 2])
    >>> together(data, data)
    QueryDataset(4 queries, 8 documents, 4 features, grades 0 to 1)
    """
    n = len(data)
    numbers = np.arange(n), np.arange(n, n + len(valid))
    parts = zip((data, valid), numbers, strict=True)
    return concat([replace(part, query_ids=ids) for part, ids in parts])


def refit_parameters(ranker: Estimator) -> dict[str, bool]:
    """Return the values of the parameter `refit`, also of rankers inside a wrapper.

    A ranker for which one is true has learnt its validation data: they cannot measure it.
    """
    params = ranker.get_params()
    return {name: bool(v) for name, v in params.items() if name.rpartition("__")[2] == "refit"}


def fit_again(
    ranker: Ranker, data: QueryDataset, valid: QueryDataset | None, go_on: bool = False
) -> Iterator[None]:
    """Fit a ranker to training and validation data; one that stops early finds its rounds first.

    For rankers that consist of others: the ranker is a copy, whose `refit` is set, also that of a
    ranker inside a wrapper. Pauses after each round.
    """
    names = refit_parameters(ranker)
    ranker.set_params(**dict.fromkeys(names, True))
    if valid is not None and not names:
        data, valid = together(data, valid), None
    yield from ranker._fit(*ranker._begin(data, valid, go_on), None)


def keep_usable(data: QueryDataset) -> QueryDataset:
    """Leave out rows without effect: unjudged documents, weights of 0, queries with one grade.

    >>> from rankloop.data.dataset import QueryDataset
    >>> keep_usable(QueryDataset.from_arrays(np.eye(5), [1, -1, 0, 2, 2], group=[3, 2]))
    QueryDataset(1 query, 2 documents, 5 features, grades 0 to 1)
    """
    rows = usable_rows(data)
    return data if rows.all() and data.sizes.all() else data.keep(rows)


def usable_rows(data: QueryDataset) -> NDArray[np.bool_]:
    """Return which documents :func:`keep_usable` keeps."""
    query = np.repeat(np.arange(len(data)), data.sizes)
    keep = data.y >= 0
    if data.sample_weight is not None:
        keep &= data.sample_weight > 0
    if data.query_weight is not None:
        keep &= (data.query_weight > 0)[query]
    highest, lowest = np.full(len(data), -np.inf), np.full(len(data), np.inf)
    np.maximum.at(highest, query[keep], data.y[keep])
    np.minimum.at(lowest, query[keep], data.y[keep])
    return np.asarray(keep & (highest > lowest)[query])


def check_measurable(valid: QueryDataset, measure: Measure, convention: str) -> None:
    """Raise if a measure has no value on the validation data: no round could be the best."""
    if np.isnan(evaluate(valid, np.zeros(valid.n_documents), measure, convention)[str(measure)]):
        raise DataError(
            f"{measure} has no value on the validation data: none of its {len(valid):,} queries "
            "has a relevant document; use other validation data"
        )


def refuse_document_weights(ranker: BatchRanker, data: QueryDataset) -> None:
    """Raise if documents have weights, because a measure of whole rankings cannot use them."""
    if data.sample_weight is not None and np.ptp(data.sample_weight) > 0:
        raise DataError(
            f"{type(ranker).__name__} optimises a measure of whole rankings, which cannot use "
            "document weights; use query weights, or no weights"
        )
