"""A ranking as a value: which documents were shown, in which order, by which model version."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop import _core
from rankloop._utils.arguments import wrong_type
from rankloop.data.grouping import one_query
from rankloop.data.sparse_rows import is_sparse
from rankloop.data.validation import as_matrix, as_text, check_length
from rankloop.exceptions import DataError
from rankloop.feedback.fields import read_fields, same_values
from rankloop.feedback.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.grouping import Ids

    S = TypeVar("S", bound=np.generic)

BEST_FIRST = "best-first"
"""The policy that shows candidates in the order of their scores, highest first."""

PLACKETT_LUCE = "plackett-luce"
"""The policy that draws a ranking by the chances exp(score), one document after the other."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Ranking:
    """The candidates of one query, and the order in which they were shown.

    `scores`, `doc_ids` and `X` have one entry per candidate, in the caller's row order. `order`,
    `propensities` and `teams` have one entry per place, from the top; if not all candidates are
    shown, they are shorter. All arrays are read-only.

    Attributes
    ----------
    id : identifies the ranking; feedback refers to it
    order : the candidates (row numbers) from the top, each at most once
    scores : one score per candidate; higher is better
    version : the version of the model that computed the scores (`version_` of a ranker)
    query_id : the id of the query, or None
    doc_ids : one id per candidate, all different; if None, row numbers serve as ids
    X : the features of each candidate, sparse if the query's rows are, or None
    propensities : the probability with which each place got its candidate, above 0 and at most 1,
        or None
    teams : the ranker that each place of an interleaved ranking belongs to, or None
    policy : how the order was chosen from the scores

    Examples
    --------
    >>> ranking = best_first([0.3, 0.9, 0.5], doc_ids=["a", "b", "c"], id="r1")
    >>> ranking
    Ranking('r1', 3 of 3 candidates, best-first, version 0)
    >>> ranking.shown_ids.tolist(), ranking.shown_scores.tolist()
    (['b', 'c', 'a'], [0.9, 0.5, 0.3])
    >>> Ranking.from_dict(ranking.to_dict()) == ranking
    True
    """

    id: str
    order: NDArray[np.int64]
    scores: NDArray[np.float64]
    version: int = 0
    query_id: int | str | None = None
    doc_ids: Ids | None = None
    X: NDArray[np.float32] | None = None
    propensities: NDArray[np.float64] | None = None
    teams: NDArray[np.int64] | None = None
    policy: str = BEST_FIRST

    def __init__(
        self,
        id: str,  # noqa: A002 - the usual name
        order: NDArray[np.int64],
        scores: NDArray[np.float64],
        version: int = 0,
        query_id: int | str | None = None,
        doc_ids: Ids | None = None,
        X: NDArray[np.float32] | None = None,
        propensities: NDArray[np.float64] | None = None,
        teams: NDArray[np.int64] | None = None,
        policy: str = BEST_FIRST,
    ) -> None:
        self.__dict__.update(  # the __init__ of a frozen dataclass takes five times as long
            id=id,
            order=_read_only(order),
            scores=_read_only(scores),
            version=version,
            query_id=query_id,
            doc_ids=None if doc_ids is None else _read_only(doc_ids),
            X=X if X is None or is_sparse(X) else _read_only(X),
            propensities=None if propensities is None else _read_only(propensities),
            teams=None if teams is None else _read_only(teams),
            policy=policy,
        )

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        shown = f"{len(self.order)} of {len(self.scores)} candidates"
        return f"Ranking({self.id!r}, {shown}, {self.policy}, version {self.version})"

    def __eq__(self, other: object) -> bool:
        return same_values(self, other)

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def shown_scores(self) -> NDArray[np.float64]:
        """The scores of the shown documents, from the top."""
        return self.scores[self.order]

    @property
    def shown_ids(self) -> Ids:
        """The ids of the shown documents, from the top, or their row numbers as text."""
        names = np.arange(len(self.scores)).astype(str) if self.doc_ids is None else self.doc_ids
        return names[self.order]

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each shown document, counted from 0."""
        return {str(name): place for place, name in enumerate(self.shown_ids.tolist())}

    def place(self, doc_id: str) -> int:
        """Return the place of a document, counted from 0; raise if it was not shown."""
        place = self.places.get(str(doc_id))
        if place is None:
            raise DataError(
                f"document {doc_id!r} was not shown in ranking {self.id!r}; feedback must be about "
                f"one of its {len(self.order)} documents"
            )
        return place

    def to_dict(self) -> dict[str, object]:
        """Return plain values that JSON can represent, without the fields that are None."""
        if is_sparse(self.X):
            raise DataError("a ranking of sparse rows cannot be written; rank dense rows")
        plain = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                plain[field.name] = value.tolist() if isinstance(value, np.ndarray) else value
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote, and check that it is a possible ranking."""
        values = read_fields(cls, plain)
        scores = _numbers("scores", values["scores"])
        order = _numbers("order", values["order"], np.int64)
        n, shown = len(scores), len(order)
        if not all(0 <= row < n for row in order.tolist()) or len(np.unique(order)) < shown:
            raise DataError(
                f"order must contain candidates from 0 to {n - 1}, each at most once; "
                f"found {values['order']}"
            )
        values.update(scores=scores, order=order)
        if "doc_ids" in values:
            values["doc_ids"] = check_ids(values["doc_ids"], n)
        if "X" in values:
            values["X"] = as_matrix(values["X"] if n else np.empty((0, 0)), allow_nan=True)
            check_length("X", values["X"], n, "candidates")
        for name, dtype in (("propensities", np.float64), ("teams", np.int64)):
            if name in values:
                values[name] = _numbers(name, values[name], dtype)
                check_length(name, values[name], shown, "places")
        chances = values.get("propensities")
        if chances is not None and not ((chances > 0) & (chances <= 1)).all():
            raise DataError(f"propensities must be above 0 and at most 1; found {chances.tolist()}")
        return cls(**values)


def _read_only(array: NDArray[S]) -> NDArray[S]:
    """Return a view that cannot be written to; the caller's array stays as it is."""
    try:
        writeable = array.flags.writeable
    except AttributeError:
        raise wrong_type("what a ranking holds of its documents", array, "arrays") from None
    if writeable:
        array = array.view()
        array.setflags(write=False)
    return array


def best_first(
    scores: ArrayLike,
    *,
    id: str | None = None,  # noqa: A002 - the usual name
    **known: Any,
) -> Ranking:
    """Rank candidates by score, highest first; equal scores keep the row order.

    Parameters
    ----------
    scores : one score per candidate
    id : the id of the ranking; default: a new one (:func:`new_id`)
    known : other attributes of the :class:`Ranking`
    """
    values = np.array(scores, np.float64)
    order = _core.rank_rows(values, one_query(len(values)), None, 1)
    values.setflags(write=False)
    order.setflags(write=False)
    if known.get("doc_ids") is not None:
        known["doc_ids"] = as_text(known["doc_ids"], "doc_ids")
    return Ranking(new_id() if id is None else id, order, values, **known)


def check_ids(doc_ids: ArrayLike, n: int) -> Ids:
    """Return document ids as text; raise unless each candidate has its own."""
    ids = as_text(doc_ids, "doc_ids")
    check_length("doc_ids", ids, n, "candidates")
    names, counts = np.unique(ids, return_counts=True)
    if len(names) < n:
        raise DataError(
            f"document {str(names[counts > 1][0])!r} occurs more than once among the candidates; "
            "give each document only once"
        )
    return ids


def _numbers(name: str, values: object, dtype: type[np.generic] = np.float64) -> NDArray[Any]:
    """Return a one-dimensional array of finite numbers, or raise."""
    try:
        array = np.array(values)
        wrong = array.ndim != 1 or (len(array) > 0 and array.dtype.kind not in "iuf")
        numbers = array.astype(dtype)
        wrong = wrong or not np.isfinite(array.astype(np.float64)).all()
        wrong = wrong or bool((numbers != array).any())
    except (TypeError, ValueError, OverflowError):
        wrong = True
    if wrong:
        kind = "whole" if dtype is np.int64 else "finite"
        raise DataError(f"{name} must be a list of {kind} numbers; found {values!r:.80}")
    return numbers
