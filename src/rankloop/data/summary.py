"""A data set at a glance: its shape, its grades, and which features and queries look wrong."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.summary_notes import notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

MAX_VALUES = 12
"""A histogram shows values one by one up to this many different ones, then ranges."""
HUGE = 1e6
"""A feature whose largest |x| exceeds this calls for scaling."""
HEAVY = 100.0
"""So does one whose largest |x| exceeds both this and this many times its root mean square."""
SENTINELS = (-1.0, -99.0, -999.0, -9999.0)
"""A feature that is never negative but for one of these, in at least 5% of rows, hides gaps."""
_SENTINEL_SHARE = 0.05
_BINS = 20
_BLOCK = 1 << 18  # elements of X looked at together


@dataclass(frozen=True)
class Histogram:
    """Counts of values, one by one (low[i] == high[i]) or in ranges low[i] <= v < high[i].

    The last range holds its high end too, unless values are whole numbers.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    counts: tuple[int, ...]

    @property
    def binned(self) -> bool:
        """True where bars are ranges."""
        return any(a < b for a, b in zip(self.low, self.high, strict=True))

    def rows(self) -> Iterator[tuple[str, int]]:
        """Give each bar's name and count."""
        for low, high, count in zip(self.low, self.high, self.counts, strict=True):
            yield (f"{low:g}" if low == high else f"{low:g} to {high:g}"), count


@dataclass(frozen=True)
class FeatureSummary:
    """One column: numbers over its values that are not missing (NaN where there are none).

    zeros is the share of rows, from 0 to 1, that are 0; missing is the number of NaN.
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
    length_counts, grades : histograms of documents a query, and of judged grades
    unjudged : documents with a grade below 0
    no_relevant : queries with documents, none of which has a grade above 0
    one_grade : queries with documents, but without two different grades: nothing to learn
    constant_features : one value in all rows, or all missing
    duplicate_features : groups of columns that are equal in every row
    query_level_features : not constant, but constant inside every query
    wide_features : calling for scaling; see HUGE and HEAVY
    sentinel_features : with (column, value) of a likely stand-in for missing; see SENTINELS
    duplicate_documents : documents whose features repeat an earlier one's of the same query
    repeated_ids : documents whose id repeats an earlier one's of the same query
    memory : bytes of the data set's arrays
    notes : findings in words, with what to do
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists and plain numbers; NaN is None."""
        plain: dict[str, Any] = _plain(dataclasses.asdict(self))
        return plain


def summarise(dataset: QueryDataset) -> Summary:
    r"""Summarise a data set. O(n d) time; beyond X, memory for blocks of it and O(n + d).

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
    X, y, offsets = dataset.X, dataset.y, dataset.offsets
    sizes = dataset.sizes
    judged = y >= 0
    scan = _scan(X, offsets)
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
        sentinel_features=_sentinels(X, scan),
        duplicate_documents=_duplicate_documents(X, offsets),
        repeated_ids=_repeated_ids(dataset.doc_ids, offsets),
        memory=sum(v.nbytes for v in vars(dataset).values() if isinstance(v, np.ndarray)),
    )
    return dataclasses.replace(summary, notes=tuple(notes(summary)))


@dataclass(frozen=True)
class _Scan:
    """What one pass over the columns finds; arrays of one value a feature."""

    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]
    mean: NDArray[np.float64]
    rms: NDArray[np.float64]
    zeros: NDArray[np.int64]
    missing: NDArray[np.int64]
    level: NDArray[np.bool_]
    equal: tuple[tuple[int, ...], ...]


def _scan(X: NDArray[np.float32], offsets: NDArray[np.int64]) -> _Scan:
    n, d = X.shape
    low, high = np.full(d, np.nan, np.float32), np.full(d, np.nan, np.float32)
    total, squares = np.zeros(d), np.zeros(d)
    zeros, missing = np.zeros(d, np.int64), np.zeros(d, np.int64)
    level = np.ones(d, bool)
    groups = [list(range(d))] if d > 1 and n else []  # columns equal so far
    inside = np.ones(n, bool)  # the row before is of the same query
    inside[offsets[:-1][offsets[:-1] < n]] = False
    for rows in _blocks(n, d):
        block = _copy(X, rows)
        groups = [part for group in groups for part in _split(group, block)]
        zeros += np.count_nonzero(block == 0, axis=0)
        low = np.fmin(low, np.fmin.reduce(block, axis=0))
        high = np.fmax(high, np.fmax.reduce(block, axis=0))
        if np.isnan(block).any():
            missing += np.count_nonzero(np.isnan(block), axis=0)
            block[np.isnan(block)] = 0
        total += block.sum(axis=0, dtype=np.float64)
        squares += np.einsum("ij,ij->j", block, block, dtype=np.float64)
        first = max(rows.start - 1, 0)
        alive = np.flatnonzero(level)  # few remain after a block or two
        if len(alive):
            some = X[first : rows.stop, alive]
            same = (some[1:] == some[:-1]) | (np.isnan(some[1:]) & np.isnan(some[:-1]))
            level[alive] = same[inside[first + 1 : rows.stop]].all(axis=0)
    known = np.maximum(n - missing, 1)
    mean = np.where(missing < n, total / known, np.nan)
    return _Scan(
        low.astype(np.float64),
        high.astype(np.float64),
        mean,
        np.sqrt(squares / known),
        zeros,
        missing,
        level,
        tuple(map(tuple, groups)),
    )


def _split(group: list[int], block: NDArray[np.float32]) -> list[list[int]]:
    """Part columns by their values in this block; a column alone is no longer a duplicate."""
    parts: dict[bytes, list[int]] = {}
    for j in group:
        parts.setdefault(block[:, j].tobytes(), []).append(j)
    return [part for part in parts.values() if len(part) > 1]


def _sentinels(X: NDArray[np.float32], scan: _Scan) -> tuple[tuple[int, float], ...]:
    candidates = np.flatnonzero(np.isin(scan.minimum, SENTINELS))
    low, high = scan.minimum[candidates], scan.maximum[candidates]
    at_low, negative, between = np.zeros((3, len(candidates)), np.int64)
    for rows in _blocks(len(X), len(candidates)):
        some = X[rows, candidates]
        at_low += (some == low).sum(axis=0)
        negative += (some < 0).sum(axis=0)
        between += ((some > low) & (some < high)).sum(axis=0)  # none: two values, say -1 and 1
    hides = (at_low == negative) & (between > 0) & (at_low >= _SENTINEL_SHARE * len(X))
    return tuple(zip(candidates[hides].tolist(), low[hides].tolist(), strict=True))


def _duplicate_documents(X: NDArray[np.float32], offsets: NDArray[np.int64]) -> int:
    """Count by 128-bit digests: 16 bytes a document of one query at a time."""
    n, d = X.shape
    if d == 0:
        return 0
    starts = set(offsets[:-1].tolist())
    seen: set[bytes] = set()
    distinct = 0
    for rows in _blocks(n, d):
        for row, values in enumerate(_copy(X, rows), rows.start):
            if row in starts:
                distinct += len(seen)
                seen = set()
            seen.add(blake2b(values, digest_size=16).digest())
    return int(n) - distinct - len(seen)


def _repeated_ids(doc_ids: NDArray[Any] | None, offsets: NDArray[np.int64]) -> int:
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


def _histogram(values: NDArray[Any], *, whole: bool = False) -> Histogram:
    """Count value by value, or, above MAX_VALUES of them, in equal ranges (of whole numbers)."""
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


def _blocks(n: int, d: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(d, 1))
    return (slice(first, min(first + step, n)) for first in range(0, n if d else 0, step))


def _copy(X: NDArray[np.float32], rows: slice) -> NDArray[np.float32]:
    """Copy some rows, in C order, with -0 turned into 0, so that equal values are equal bytes."""
    return np.add(X[rows], np.float32(0), order="C")


def _columns(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
