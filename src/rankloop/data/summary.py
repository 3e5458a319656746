"""A summary of a data set: its shape, its grades, and features and queries that look wrong."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.arguments import check_type
from rankloop.data.dataset import QueryDataset
from rankloop.data.sparse_rows import SparseRows
from rankloop.data.summary_notes import notes
from rankloop.data.summary_scan import (
    duplicate_documents,
    duplicate_sparse_documents,
    scan_columns,
    scan_sparse_columns,
    sentinels,
    sparse_sentinels,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.data.grouping import Ids

MAX_VALUES = 12
"""A histogram shows values one by one up to this many different ones, then ranges."""
HUGE = 1e6
"""A feature whose largest |x| exceeds this calls for scaling."""
HEAVY = 100.0
"""So does one whose largest |x| exceeds both this and this many times its root mean square."""
_BINS = 20


@dataclass(frozen=True)
class Histogram:
    """Counts of single values (low[i] == high[i]) or of ranges low[i] <= v < high[i].

    The last range includes its high end, unless values are whole numbers.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    counts: tuple[int, ...]

    @property
    def is_binned(self) -> bool:
        """True if bars are ranges."""
        return any(a < b for a, b in zip(self.low, self.high, strict=True))

    def rows(self) -> Iterator[tuple[str, int]]:
        """Yield the name and count of each bar."""
        for low, high, count in zip(self.low, self.high, self.counts, strict=True):
            yield (f"{low:g}" if low == high else f"{low:g} to {high:g}"), count


@dataclass(frozen=True)
class FeatureSummary:
    """One column: statistics of its values that are not missing (NaN if there are none).

    `zeros` is the share of rows that are 0, from 0 to 1; `missing` is the number of NaN.
    """

    name: str
    minimum: float
    maximum: float
    mean: float
    zeros: float
    missing: int


@dataclass(frozen=True)
class Summary:
    """What :func:`summarise` found. Features are named by column, counted from 0.

    Attributes
    ----------
    list_lengths : minimum, lower quartile, median, upper quartile, maximum; () without queries
    length_counts, grades : histograms of documents per query, and of judged grades
    unjudged : documents with a grade below 0
    no_relevant : queries with documents, none of which has a grade above 0
    one_grade : queries with documents, but without two different grades; they teach nothing
    constant_features : one value in all rows, or all missing
    duplicate_features : groups of columns that are equal in every row
    query_level_features : not constant, but constant inside every query
    wide_features : those that need scaling; see HUGE and HEAVY
    sentinel_features : (column, value) of values that probably mean missing; see
        :data:`rankloop.data.summary_scan.SENTINELS`
    duplicate_documents : documents whose features repeat an earlier one's of the same query
    repeated_ids : documents whose id repeats an earlier one's of the same query
    memory : bytes of the data set's arrays
    notes : texts that describe the findings, with what to do
    """

    queries: int
    documents: int
    features: int
    list_lengths: tuple[float, ...]
    length_counts: Histogram
    single_document_queries: int
    empty_queries: int
    grades: Histogram
    unjudged: int
    no_relevant: int
    one_grade: int
    feature_summaries: tuple[FeatureSummary, ...]
    constant_features: tuple[int, ...]
    duplicate_features: tuple[tuple[int, ...], ...]
    query_level_features: tuple[int, ...]
    wide_features: tuple[int, ...]
    sentinel_features: tuple[tuple[int, float], ...]
    duplicate_documents: int
    repeated_ids: int
    memory: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return everything as dicts, lists and plain numbers; NaN is None."""
        plain: dict[str, object] = _plain(dataclasses.asdict(self))
        return plain


def summarise(dataset: QueryDataset) -> Summary:
    r"""Summarise a data set. O(n d) time; beyond X, memory for blocks of it and O(n + d).

    Sparse rows take time and memory for their nonzeros and O(n + d).

    >>> from rankloop.data.dataset import QueryDataset
    >>> X = [[1.0, 5.0], [2.0, 5.0], [3.0, 7.0]]
    >>> found = summarise(QueryDataset.from_arrays(X, [0, 2, 0], qid=[1, 1, 2]))
    >>> found.query_level_features, found.no_relevant
    ((1,), 1)
    >>> print(*found.notes, sep="\n")
    1 of 2 queries has no relevant document: conventions score such queries differently
    1 of 2 queries has documents of one grade only: a ranker learns nothing from it
    1 feature is constant inside every query (column 1): a linear ranker cannot use it
    """
    check_type("the data", dataset, QueryDataset, "a QueryDataset")
    X, y, offsets = dataset.X, dataset.y, dataset.offsets
    sizes = dataset.sizes
    judged = y >= 0
    if isinstance(X, SparseRows):
        scan = scan_sparse_columns(X, offsets)
        hiding, repeated = sparse_sentinels(X, scan), duplicate_sparse_documents(X, offsets)
    else:
        scan = scan_columns(X, offsets)
        hiding, repeated = sentinels(X, scan), duplicate_documents(X, offsets)
    n, d = X.shape
    names = dataset.feature_names or tuple(f"column {j}" for j in range(d))
    constant = (scan.minimum == scan.maximum) & (scan.missing == 0)
    constant |= (scan.missing == n) & (n > 0)
    query_level = scan.level & ~constant & bool((sizes > 1).any())
    peak = np.fmax(np.abs(scan.minimum), np.abs(scan.maximum))
    wide = (peak > HUGE) | ((peak > HEAVY) & (peak > HEAVY * scan.rms))
    summary = Summary(
        queries=len(sizes),
        documents=n,
        features=d,
        list_lengths=tuple(np.quantile(sizes, [0, 0.25, 0.5, 0.75, 1]).tolist())
        if len(sizes)
        else (),
        length_counts=_histogram(sizes, whole=True),
        single_document_queries=int((sizes == 1).sum()),
        empty_queries=int((sizes == 0).sum()),
        grades=_histogram(y[judged]),
        unjudged=int(n - judged.sum()),
        no_relevant=int(((sizes > 0) & (_per_query(y > 0, offsets) == 0)).sum()),
        one_grade=int(((sizes > 0) & ~_has_two_grades(y, offsets)).sum()),
        feature_summaries=tuple(
            map(
                FeatureSummary,
                names,
                scan.minimum.tolist(),
                scan.maximum.tolist(),
                scan.mean.tolist(),
                (scan.zeros / max(n, 1)).tolist(),
                scan.missing.tolist(),
            )
        ),
        constant_features=_columns(constant),
        duplicate_features=tuple(g for g in scan.equal if not constant[g[0]]),
        query_level_features=_columns(query_level),
        wide_features=_columns(wide),
        sentinel_features=hiding,
        duplicate_documents=repeated,
        repeated_ids=_find_repeated_ids(dataset.doc_ids, offsets),
        memory=dataset.nbytes,
    )
    return dataclasses.replace(summary, notes=tuple(notes(summary)))


def _find_repeated_ids(doc_ids: Ids | None, offsets: NDArray[np.int64]) -> int:
    if doc_ids is None:
        return 0
    repeated = 0
    for first, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        named = [name for name in doc_ids[first:end].tolist() if name]  # "" is no id
        repeated += len(named) - len(set(named))
    return repeated


def _per_query(flags: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    before = np.concatenate(([0], np.cumsum(flags, dtype=np.int64)))
    return before[offsets[1:]] - before[offsets[:-1]]


def _has_two_grades(y: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    judged = np.flatnonzero(y >= 0)
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[judged]
    changes = (np.diff(y[judged]) != 0) & (np.diff(query) == 0)
    result = np.zeros(len(offsets) - 1, bool)
    result[query[1:][changes]] = True
    return result


def _histogram(values: NDArray[np.int64 | np.float64], *, whole: bool = False) -> Histogram:
    """Count single values, or equal ranges if there are more than MAX_VALUES values."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= MAX_VALUES:
        each = tuple(distinct.astype(float).tolist())
        return Histogram(each, each, tuple(counts.tolist()))
    first, last = float(distinct[0]), float(distinct[-1])
    if whole:
        step = math.ceil((last - first + 1) / _BINS)
        edges = first + step * np.arange(math.ceil((last - first + 1) / step) + 1)
    else:
        edges = np.linspace(first, last, _BINS + 1)
    bars = np.histogram(values, edges)[0]
    return Histogram(tuple(edges[:-1].tolist()), tuple(edges[1:].tolist()), tuple(bars.tolist()))


def _columns(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())


def _plain(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
