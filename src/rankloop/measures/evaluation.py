"""Measure a ranking, per query and on average, under a named convention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop._utils.tabular import Tabular
from rankloop.data.dataset import QueryDataset
from rankloop.data.frames import as_frame, check_same_rows
from rankloop.data.validation import as_grades, as_weights, check_length, column_names
from rankloop.exceptions import DataError, DataTypeError, MeasureError
from rankloop.measures.conventions import Convention, as_convention
from rankloop.measures.measure import Measure, parse, parse_all
from rankloop.measures.predictions import Predictions
from rankloop.measures.ranking import as_scores, tie_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

_FEW = 256  # up to so many queries, one thread is enough
_ABOVE_ZERO = float(np.finfo(np.float64).smallest_subnormal)


@dataclass(frozen=True, eq=False)
class Result:
    """One measure of one ranking.

    measure, convention : what was measured, and how
    values : one per query, NaN if the query was left out
    weights : one per query, or None
    """

    measure: Measure
    convention: str
    values: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None

    @property
    def left_out(self) -> int:
        """The number of queries that the convention leaves out of the mean."""
        return int(np.isnan(self.values).sum())

    @property
    def queries(self) -> int:
        """The number of queries in the mean."""
        return len(self.values) - self.left_out

    @property
    def mean(self) -> float:
        """The weighted mean over queries; NaN if all queries were left out."""
        known = ~np.isnan(self.values)
        weights = np.ones(len(self.values)) if self.weights is None else self.weights
        total = weights[known].sum()
        return float(weights[known] @ self.values[known] / total) if total > 0 else float("nan")

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        return {
            "measure": str(self.measure),
            "convention": self.convention,
            "mean": None if np.isnan(self.mean) else self.mean,
            "queries": self.queries,
            "left_out": self.left_out,
        }


@dataclass(frozen=True, eq=False)
class Evaluation(Tabular):
    """The results of several measures, which print as a table.

    Index it with a measure to get the mean.
    """

    results: tuple[Result, ...]

    def __getitem__(self, measure: str | Measure) -> float:
        return self.result(measure).mean

    def result(self, measure: str | Measure) -> Result:
        """Return the full result of one measure."""
        wanted = parse(measure)
        for result in self.results:
            if result.measure == wanted:
                return result
        raise KeyError(f"{wanted} was not measured; measured: {', '.join(map(str, self.measures))}")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the requested order."""
        return tuple(result.measure for result in self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __repr__(self) -> str:
        inside = ", ".join(f"{r.measure}={r.mean:.4f}" for r in self.results)
        return f"Evaluation({inside})"

    def _rows(self) -> list[dict[str, object]]:
        return self.to_dicts()

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a data frame of `pandas` or `polars` with one row per measure."""
        return as_frame(self.to_dicts(), kind)

    def to_dicts(self) -> list[dict[str, object]]:
        """Return one dictionary per measure."""
        return [result.to_dict() for result in self.results]


def evaluate(
    data: QueryDataset | ArrayLike,
    scores: ArrayLike,
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    convention: str | Convention = "standard",
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
) -> Evaluation:
    """Measure scores against the grades of a data set, or against grades with query ids.

    Parameters
    ----------
    data : the judged documents, or one grade per row. Grades below 0 (unjudged) count as not
        relevant; PairAcc leaves them out.
    scores : one per document, in the data set's order; minus infinity means not retrieved. What a
        ranker predicts for the rows of the table that the data set was made of is brought into
        this order, and an error if it belongs to other rows. A pandas or polars series is one, too,
        if the rows of the data set are in another order than those of its table.
    measures : see :mod:`rankloop.measures.measure`
    convention : a name or a :class:`Convention`
    qid, group : for grades, one query id per row, or the number of rows of each query; then scores
        are in the order of the grades. What a ranker predicts for a data set is brought into it.
    query_weight : weights of the mean; by default those of the data set, or equal weights if it
        has none. Document weights have no effect on a measure.

    Notes
    -----
    Cost: O(n log m) for all measures together, with m documents per query. Ties are broken as the
    convention says. By default tied documents keep the row order, so shuffle the documents
    (`data.shuffle(rng)`) before you evaluate a ranker that may give equal scores.

    Examples
    --------
    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays(np.zeros((3, 1)), [2, 0, 1], group=[3])
    >>> evaluate(data, [3.0, 2.0, 1.0], ["nDCG@2", "AP", "P@1"])
    Evaluation(nDCG@2=0.8262, AP=0.8333, P@1=1.0000)
    >>> evaluate([2, 0, 1, 1], [3.0, 2.0, 1.0, 4.0], "AP", qid=["a", "b", "a", "b"])
    Evaluation(AP=1.0000)
    """
    if not isinstance(data, QueryDataset):
        scored = scores.scored if isinstance(scores, Predictions) else scores
        check_same_rows(data, "the grades", qid=qid, scores=scored)
        data, scores = judge(data, scores, qid, group)
    elif qid is not None or group is not None:
        raise DataError("a QueryDataset has its own queries; leave out qid and group")
    rules = as_convention(convention)
    wanted = parse_all(measures)
    values = as_scores(scores, data)
    keys = None
    if rules.ties == "doc_id":
        keys = tie_keys(data.doc_ids)
        largest = np.finfo(np.float32).max
        values = np.where(np.isinf(values), values, np.clip(values, -largest, largest))
        values = values.astype(np.float32)
    table = measure_queries(values, data.y, data.offsets, wanted, rules, keys)
    weights = data.query_weight
    if query_weight is not None:
        weights = as_weights(query_weight, "query_weight")
        if len(weights) != len(data):
            raise MeasureError(
                f"found {len(weights):,} query weights for {len(data):,} queries; "
                "give one per query"
            )
    return Evaluation(
        tuple(
            Result(measure, rules.name, row, weights)
            for measure, row in zip(wanted, table, strict=True)
        )
    )


def judge(
    grades: ArrayLike, scores: ArrayLike, qid: ArrayLike | None, group: ArrayLike | None
) -> tuple[QueryDataset, NDArray[Any]]:
    """Return grades as a data set without features, and their scores in its order."""
    if isinstance(grades, Predictions):
        raise DataTypeError(
            "the first argument is what a ranker predicted; grades come first, as in "
            "evaluate(y, model.predict(X), qid=...)"
        )
    if column_names(grades) is not None:
        raise DataTypeError(
            "evaluate takes a QueryDataset, or one grade per row with qid=; found a table: pass "
            "its column of grades, and its column of query ids as qid="
        )
    if (qid is None) == (group is None):
        raise DataError(
            "which rows belong to which query is not known: pass either qid=, one query id per "
            "row, or group=, the number of rows of each query (or give a QueryDataset)"
        )
    y = as_grades(grades)
    data = QueryDataset.from_arrays(np.zeros((len(y), 0), np.float32), y, qid=qid, group=group)
    if isinstance(scores, Predictions):
        scores = scores.in_row_order_of(data)
    values = np.asarray(scores)
    check_length("scores", np.atleast_1d(values), len(y))
    return data, data.from_row_order(values)


def measure_queries(
    scores: NDArray[Any],
    grades: NDArray[np.float64],
    offsets: NDArray[np.int64],
    measures: tuple[Measure, ...],
    rules: Convention,
    keys: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Measure checked scores; return one row per measure and one column per query.

    A value is NaN if the query is left out.

    keys : for conventions that break ties by document id; see :func:`tie_keys`
    """
    sizes = np.diff(offsets)
    longest = int(sizes.max(initial=1))
    table = _core.measure_queries(
        scores,
        grades,
        _gains(grades, rules, measures),
        offsets,
        keys,
        np.asarray(rules.discount(np.arange(1.0, longest + 1.0)), np.float64),
        [_specification(measure, rules, grades) for measure in measures],
        average_ties=rules.ties == "averaged",
        ap_by_cutoff=rules.ap_by_cutoff,
        threads=threads() if len(sizes) > _FEW else 1,  # asking takes longer than a few queries
    )
    for measure, row in zip(measures, table, strict=True):
        _apply(rules, measure, row, sizes)
    return table


def _gains(
    grades: NDArray[np.float64], rules: Convention, measures: tuple[Measure, ...]
) -> NDArray[np.float64]:
    if not any(m.name in ("DCG", "nDCG") for m in measures):
        return np.maximum(grades, 0.0)
    if len(grades) and grades.min() >= -1 and grades.max() <= 100:
        levels = grades.astype(np.int8)
        if (levels == grades).all():  # few whole grades: look powers up in a table
            with np.errstate(over="ignore"):
                table = np.asarray(rules.gain(np.arange(levels.max(initial=0) + 1.0)), np.float64)
            if np.isfinite(table.max() * len(grades)) and (table >= 0).all():
                return table.take(levels, mode="clip")
    with np.errstate(over="ignore"):
        gains = np.ascontiguousarray(rules.gain(np.maximum(grades, 0.0)), np.float64)
    with np.errstate(over="ignore"):
        sound = bool(np.isfinite(gains.sum())) and not (gains < 0).any()
    if not sound:
        bad = ~np.isfinite(gains) | (gains < 0)
        worst = grades[bad][0] if bad.any() else grades.max()
        raise MeasureError(
            f"the gain of grade {worst:g} is negative or too large under convention "
            f"{rules.name!r}; use a convention with a linear gain, or "
            "a Convention with your own gain"
        )
    return gains


def _specification(
    measure: Measure, rules: Convention, grades: NDArray[np.float64]
) -> tuple[int, int, float, float]:
    name = measure.name
    if measure.family.needs_cutoff and measure.cutoff is None:
        raise MeasureError(f"{name} needs a cutoff, as in {name}@10")
    if rules.ties == "averaged" and not measure.averages_ties:
        raise MeasureError(
            f"{measure} is not defined with averaged ties (convention {rules.name!r})"
        )
    rel = measure.parameter("rel")
    if rel is None:
        rel = rules.rel if rules.rel is not None else _ABOVE_ZERO
    parameter = measure.parameter("p") or measure.parameter("max") or 0.0
    if name == "ERR" and len(grades) and grades.max() > parameter:
        raise MeasureError(
            f"{measure} expects grades up to {parameter:g}, but the data has {grades.max():g}; "
            f"write ERR(max={grades.max():g})"
        )
    return measure.family.code, measure.cutoff or 0, rel, parameter


def _apply(
    rules: Convention, measure: Measure, values: NDArray[np.float64], sizes: NDArray[np.int64]
) -> None:
    """Set the values of queries without a relevant document, and of short lists."""
    if rules.empty is not None:
        values[np.isnan(values)] = rules.empty if measure.family.ratio else 0.0
    if rules.short_lists == "zero" and measure.name == "nDCG" and measure.cutoff is not None:
        values[(sizes < measure.cutoff) & ~np.isnan(values)] = 0.0
