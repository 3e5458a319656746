"""The base class of every ranker, and its contract.

What a subclass writes:

- `__init__` stores its parameters under their names, and does nothing else. Parameters are checked
  in `_check`, before `fit` changes anything.
- `_reset(n_features)` sets everything that is learnt to what it is before any data, and the
  attributes `n_features_in_` and `n_queries_seen_`. What is learnt ends in `_`.
- `_fit(data, valid, on_round)` learns from checked data, starting from the current state. It is a
  generator: it yields whenever its state is one that could be kept, such as after a round. An
  online ranker writes `_learn_queries` or `_learn_query` instead
  (:class:`rankloop.rankers.online.base.OnlineRanker`), and a batch ranker writes `_rounds`
  (:class:`rankloop.rankers.batch.base.BatchRanker`).
- `_score_rows(X, offsets)` scores checked rows; higher is better.
- `_learns` names the attributes that are learnt, and `_forms` says of which type and shape each of
  them is, so that a damaged model file is refused.

What it must not do: change a learnt array in place. A copy of a ranker shares the arrays of the
original, so the original would change, too, and with it what other threads rank with.

What it gets: `fit` with tables, matrices or data sets, sparse or dense; `predict`, `rank`, `score`
and `contributions`, which :mod:`rankloop.rankers.prediction` has; files, copies and digests;
parameters in scikit-learn's way; and threads that may rank while another learns.

How `fit` reaches the subclass: `fit` makes a data set, and `_learn_on_copy` lets a copy of the
ranker learn: `_begin` checks the data and resets the copy, and `_fit` learns. The ranker takes over
the state of the copy at the end. So an error leaves the ranker as it was.
"""

from __future__ import annotations

import copy
import threading
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankloop._utils.arguments import check_callback
from rankloop.data.columns import with_columns
from rankloop.exceptions import DataError, RankloopError
from rankloop.rankers.forms import Anything, Whole
from rankloop.rankers.inputs import check_differences, training_data, validation_data
from rankloop.rankers.prediction import Predictor
from rankloop.rankers.state import check_forms, making_lock, plain_copy, read_width

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.data.grouping import Ids
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.prediction import Offsets as Offsets
    from rankloop.rankers.prediction import Rows as Rows
    from rankloop.rankers.prediction import Scores as Scores
    from rankloop.rankers.rounds import Round
    from rankloop.rankers.search import Search
    from rankloop.rankers.state import State

    Grades = NDArray[np.float64]


class Ranker(Predictor):
    """A ranker: it learns from queries, scores, ranks, explains itself and can be saved.

    The text at the top of this module says what a subclass writes and what it gets.

    Threads may share a ranker: threads that learn wait for each other, while `predict`, `rank`,
    `save` and `copy` see the state before or after an update, and never wait.

    Attributes
    ----------
    n_features_in_ : number of features
    feature_names_in_ : their names; empty if the training data has no names
    query_name_ : the name of the column of query ids in the training data; None if it is not known
    n_queries_seen_ : number of queries learnt from so far
    version_ : how often the state has changed
    """

    __slots__ = ("_lock",)  # outside __dict__, so that copies, pickles and files do not hold it
    _lock: threading.RLock

    search_space: ClassVar[Mapping[str, Search]] = {}
    """The parameters worth choosing on validation data, and the values worth trying."""

    _learns: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that, together with the counters, form the whole learnt state."""

    n_queries_seen_: int
    warm_start: bool = False
    _trained_on: tuple[Ids, int] | None = None
    """The queries of the last `fit` and their number of rows, which are not part of the state."""

    rounds_: int | None = None

    @abstractmethod
    def _reset(self, n_features: int) -> None:
        """Forget everything."""

    @abstractmethod
    def _fit(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
    ) -> Iterator[None]:
        """Learn from checked data, starting from the current state; pause in consistent states.

        Replace learnt arrays and never change them in place, because other code may hold them.
        """

    @property
    def _writing(self) -> threading.RLock:
        """The lock that a thread holds while it learns; it is made when first needed."""
        try:
            return self._lock
        except AttributeError:
            with making_lock:
                if not hasattr(self, "_lock"):
                    self._lock = threading.RLock()
            return self._lock

    def with_indicators(self, indicators: int, wide: int) -> Self:  # noqa: ARG002
        """Return this ranker for rows whose last columns are indicators, which are 0 or 1.

        A ranker that treats such columns in another way than numbers overrides this, and returns a
        copy with other parameters.

        indicators : the number of these columns
        wide : how many of them, the last ones, stand for categories of which there are many
        """
        return self

    def _become(self, new: Self) -> None:
        """Take over the state of a copy in one step, as a new version."""
        self.__dict__.update(new.__dict__, version_=self.version_ + 1)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes that deep copies and pickles contain: all but the lock."""
        return vars(self).copy()

    def _state(self) -> dict[str, Any]:
        """Return copies of everything that was learnt, by attribute; empty before `fit`."""
        return {name: plain_copy(getattr(self, name)) for name in self._state_names()}

    def _state_names(self) -> tuple[str, ...]:
        if not self.is_fitted:
            return ()
        names = ("feature_names_in_",) if self.feature_names_in_ else ()
        return ("n_features_in_", "n_queries_seen_", *names, *self._learns)

    def _forms(self, n_features: int) -> dict[str, Form]:
        """Return the expected form of each part of the state, for n_features features."""
        return {
            "n_features_in_": Whole(n_features, n_features),
            "n_queries_seen_": Whole(),
            **dict.fromkeys(self._learns, Anything()),
        }

    def _check_state(self, state: State) -> None:
        """Raise unless this is a possible state of a ranker with these parameters.

        The state comes from a file, and may be anything. A subclass extends this if its parts must
        be consistent with each other, or if it learns more than numbers.
        """
        check_forms(state, self._forms(read_width(state)), type(self).__name__)

    def _restore(self, state: State) -> None:
        """Replace the state by one that :meth:`_state` returned, after checking it."""
        with self._writing:
            new = self.copy()
            new._check_state(state)
            new.feature_names_in_ = ()
            for name, value in state.items():
                setattr(new, name, tuple(value) if name == "feature_names_in_" else value)
            self._become(new)

    def explain(self) -> Parts:
        """Return the parts of the model, most important first, with the features they use."""
        self._check_fitted()
        raise DataError(
            f"a {type(self).__name__} has no parts to show; contributions(X) returns what each "
            "feature adds to a score"
        )

    def _check(self, data: QueryDataset) -> None:
        """Raise, before anything changes, if a parameter, a grade or a weight cannot be used."""

    def _check_part(self, data: QueryDataset) -> None:
        """Raise if this ranker cannot learn from a part of the data, which has whole queries."""
        self._refuse_missing(data)
        self._check(data)

    def fit(
        self,
        X: object,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        valid: object = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Self:
        """Fit the ranker from scratch, or with `warm_start` from its current state.

        An error leaves the ranker unchanged. If a ranker that learns in rounds is interrupted, it
        keeps the state of the last complete round. Other threads use the old state until `fit` is
        done, or, with `on_round`, until the first round is done.

        Parameters
        ----------
        X : a QueryDataset, or a matrix of features, dense or, for a ranker that takes them
            (`traits.takes_sparse`), sparse, with
        y : one grade per row (below 0 means unjudged), and
        qid : one query id per row, in any order; or
        group : the number of rows of each query
        sample_weight, query_weight : one per row, and one per query in order of first appearance
        valid : validation data, on which a ranker that learns in rounds chooses the best round;
            others ignore it: a QueryDataset, or a frame or table with the same features, and with
            columns of grades and query ids that have the usual names, such as `label` and `qid`
        on_round : called after each round, to show progress
        """
        data = training_data(
            X, y, qid, group, sample_weight, query_weight, allow_nan=self.traits.takes_nan
        )
        if not (self.traits.takes_equal_grades or self.traits.is_baseline):
            check_differences(data, type(self).__name__)
        judged = validation_data(valid, data.feature_names)
        check_callback(on_round)
        return self._learn_on_copy(
            lambda new: new._fit(*new._begin(data, judged, self.warm_start), on_round),
            on_round,
            (data.query_ids, data.n_documents),
        )

    def go_on(
        self,
        data: QueryDataset,
        *,
        valid: object = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Self:
        """Continue from the current state, with more rounds on this data or with its queries."""
        data = training_data(data)
        judged = validation_data(valid, data.feature_names)
        check_callback(on_round)
        return self._learn_on_copy(
            lambda new: new._fit(*new._begin(data, judged, go_on=True), on_round),
            on_round,
            (data.query_ids, data.n_documents),
        )

    def discount_past(self, keep: float) -> Self:
        """Reduce the weight of what was learnt so far to this fraction; for online rankers."""
        raise DataError(
            f"a {type(self).__name__} does not learn online, so it cannot keep only {keep} of what "
            "it learnt; leave out this option"
        )

    def _learn_on_copy(
        self,
        learn: Callable[[Self], Iterator[None]],
        on_round: Callable[[Round], None] | None,
        trained_on: tuple[Ids, int] | None,
    ) -> Self:
        """Let a copy learn and take its state over: wholly, or the last complete round.

        `learn` pauses whenever the state of the copy is complete. This state is copied at once,
        because the next round changes attributes of `new` one after the other, and an interrupt
        may come in between.
        """
        with self._writing:
            new, whole = self.copy(), None
            try:
                for _ in learn(new):
                    whole = new.copy()
                    if on_round is not None:  # the callback sees the state after each round
                        self._become(whole)
            except BaseException as error:
                if whole is not None and not isinstance(error, RankloopError):
                    whole._end_early()
                    self._become(whole)
                raise
            new._trained_on = trained_on
            self._become(new)
        return self

    def _begin(
        self, data: QueryDataset, valid: QueryDataset | None, go_on: bool
    ) -> tuple[QueryDataset, QueryDataset | None]:
        """Check data, and forget everything unless learning continues; return what `_fit` takes.

        Rankers that consist of others train copies of them by `_begin` and `_fit`, without the
        lock and the copy of :meth:`fit`; all other code calls :meth:`fit`.
        """
        goes_on = go_on and self.is_fitted
        if goes_on:
            data = with_columns(data, self.feature_names_in_)
        self._refuse_missing(data)
        self._check(data)
        if not goes_on:
            self._reset(data.n_features)
            self.feature_names_in_ = data.feature_names or ()
            self.query_name_ = data.query_name
        self._check_width(data.X)
        if valid is not None:
            valid = with_columns(valid, self.feature_names_in_, wider=True)
            self._check_width(valid.X)
            self._refuse_missing(valid)
        return data, valid

    def _end_early(self) -> None:
        """Clean up after an interrupt that follows a complete round; subclasses may override it."""

    def fit_path(
        self,
        data: QueryDataset,
        settings: Iterable[Mapping[str, object]],
        *,
        valid: QueryDataset | None = None,
    ) -> Iterator[Self]:
        """Yield one fitted copy per setting."""
        for setting in settings:
            yield copy.deepcopy(self).set_params(**setting).fit(data, valid=valid)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ranker to one file; :func:`rankloop.load` reads it."""
        from rankloop.rankers.model_files.saving import save

        save(self, path)

    def dumps(self) -> bytes:
        """Return the ranker as the bytes of such a file; :func:`rankloop.loads` reads them."""
        from rankloop.rankers.model_files.saving import dumps

        return dumps(self)

    def digest(self) -> str:
        """Return a digest of the parameters and of every bit that was learnt.

        The same stream gives the same digest on every processor, with any number of threads.
        """
        from rankloop.rankers.digest import digest

        return digest(self.copy())
