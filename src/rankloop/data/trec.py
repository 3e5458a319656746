"""TREC files: relevance judgements (qrels) and system output (runs).

A qrels line is `query 0 document grade`, a run line `query Q0 document rank score tag`, separated
by blanks. The second field and a run's rank are not used: scores decide the order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.files import open_input, open_output
from rankloop.data.grouping import TEXT, as_ids, group_by_id, ids_from_text
from rankloop.data.validation import as_grades, as_text, check_length
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

_CHUNK = 2**24
_QRELS = ("query", "0", "document", "grade")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgements, one a row: query ids (numbers or text), document ids (text), grades."""

    query_ids: NDArray[Any]
    doc_ids: NDArray[Any]
    grades: NDArray[np.float64]

    def __post_init__(self) -> None:
        _settle(self, "grades", as_grades(self.grades))

    def __len__(self) -> int:
        return len(self.grades)


@dataclass(frozen=True, eq=False)
class Run:
    """What a system retrieved, one document a row: query ids, document ids, finite scores."""

    query_ids: NDArray[Any]
    doc_ids: NDArray[Any]
    scores: NDArray[np.float64]
    tag: str = "rankloop"

    def __post_init__(self) -> None:
        _settle(self, "scores", _finite(self.scores))

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True, eq=False)
class Joined:
    """Judgements and a run together, from :func:`join`.

    Attributes
    ----------
    dataset : every judged or retrieved document of the judged queries, without features
    scores : one a document of `dataset`; -inf: not retrieved
    n_unjudged_queries : queries of the run left out, having no judgement
    n_missing_queries : judged queries that the run does not have
    n_unjudged : retrieved documents without a judgement (grade -1)
    n_not_retrieved : judged documents that the run does not have (score -inf)
    """

    dataset: QueryDataset
    scores: NDArray[np.float64]
    n_unjudged_queries: int
    n_missing_queries: int
    n_unjudged: int
    n_not_retrieved: int


def read_qrels(path: str | os.PathLike[str]) -> Qrels:
    """Read judgements, compressed or not (`-`: standard input), rows in file order.

    Raises
    ------
    ParseError
        naming the line that is malformed or judges a document again.
    """
    query_ids, doc_ids, grades, _ = _read(path, _QRELS)
    return Qrels(query_ids, doc_ids, grades)


def read_run(path: str | os.PathLike[str]) -> Run:
    """Read a run, compressed or not (`-`: standard input), rows in file order.

    The tag is that of the first line; errors as in :func:`read_qrels`.
    """
    query_ids, doc_ids, scores, tag = _read(path, _RUN)
    return Run(query_ids, doc_ids, scores, tag)


def write_qrels(qrels: Qrels, path: str | os.PathLike[str]) -> None:
    """Write judgements in their order, compressed as the suffix says; whole or not at all."""
    grades = (str(int(g)) if g == int(g) else repr(g) for g in qrels.grades.tolist())
    ids = zip(_words(qrels.query_ids, "query id"), _words(qrels.doc_ids, "document id"), grades)
    _write(path, (f"{query} 0 {doc} {grade}\n" for query, doc, grade in ids))


def write_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run in rank order, compressed as the suffix says; whole or not at all.

    Queries stand in order of first appearance, equal scores in the order of the rows, ranks count
    from 1. Scores are written so that they read back exactly.
    """
    (tag,) = _words(np.array([run.tag], TEXT), "tag")
    query, _ = _codes(run.query_ids)
    order = np.lexsort((-run.scores, query))
    starts = np.r_[True, query[order][1:] != query[order][:-1]] if len(order) else np.empty(0, bool)
    rows = np.arange(len(order))
    ranks = rows - np.maximum.accumulate(np.where(starts, rows, 0)) + 1
    columns = zip(
        _words(run.query_ids[order], "query id"),
        _words(run.doc_ids[order], "document id"),
        ranks.tolist(),
        run.scores[order].tolist(),
        strict=True,
    )
    _write(path, (f"{q} Q0 {doc} {rank} {score!r} {tag}\n" for q, doc, rank, score in columns))


def join(qrels: Qrels, run: Run) -> Joined:
    """Bring together, query by query, the documents that were judged or retrieved.

    A retrieved document without judgement has grade -1, a judged one that was not retrieved has
    score -inf. Queries come in the judgements' order; in each, retrieved documents in the run's
    order, then the others. A judged query that the run lacks is kept, all -inf; a query of the run
    without any judgement is left out, and counted. O(n log n).

    Examples
    --------
    >>> qrels = Qrels(np.array([1, 1]), np.array(["a", "b"]), np.array([2.0, 0.0]))
    >>> run = Run(np.array([1, 1, 2]), np.array(["c", "a", "a"]), np.array([3.0, 1.0, 1.0]))
    >>> joined = join(qrels, run)
    >>> joined.dataset.doc_ids.tolist(), joined.dataset.y.tolist(), joined.scores.tolist()
    (['c', 'a', 'b'], [-1.0, 2.0, 0.0], [3.0, 1.0, -inf])
    >>> joined.n_unjudged_queries
    1
    """
    n = len(qrels)
    query, n_queries, key = _keys(
        (qrels.query_ids, run.query_ids), (qrels.doc_ids, run.doc_ids), ("qrels", "run")
    )
    judged = np.zeros(n_queries, bool)
    judged[query[:n]] = True
    kept = judged[query[n:]]
    if not kept.any():
        raise _nothing_in_common("the judgements", qrels.query_ids, run.query_ids)
    key_run = key[n:][kept]
    grades = _look_up(key_run, key[:n], qrels.grades, -1.0)
    absent = ~np.isin(key[:n], key_run)
    source = np.r_[n + np.flatnonzero(kept), np.flatnonzero(absent)]
    order = np.argsort(query[source], kind="stable")  # codes count queries by first appearance
    y = np.r_[grades, qrels.grades[absent]][order]
    scores = np.r_[run.scores[kept], np.full(absent.sum(), -np.inf)][order]
    doc_ids = np.concatenate([run.doc_ids[kept], qrels.doc_ids[absent]])[order]
    _, first = np.unique(query[:n], return_index=True)
    ids = qrels.query_ids[np.sort(first)]
    position = np.cumsum(judged) - 1
    dataset = QueryDataset.from_grouping(
        np.empty((len(y), 0), np.float32),
        y,
        group_by_id(ids[position[query[source][order]]]),
        doc_ids=doc_ids,
    )
    retrieved = np.zeros(n_queries, bool)
    retrieved[query[n:]] = True
    return Joined(
        dataset,
        scores,
        n_unjudged_queries=int((~judged).sum()),
        n_missing_queries=int((judged & ~retrieved).sum()),
        n_unjudged=int((~np.isin(key_run, key[:n])).sum()),
        n_not_retrieved=int(absent.sum()),
    )
