"""Join judgements, runs and data sets by document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import TEXT, group_by_id
from rankloop.data.io.trec import Qrels, Run, first_repeat, number_ids
from rankloop.data.validation import check_length
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.grouping import Ids


@dataclass(frozen=True, eq=False)
class Joined:
    """Judgements and a run together, from :func:`join`.

    Attributes
    ----------
    dataset : every judged or retrieved document of the judged queries, without features
    scores : one per document of `dataset`; -inf means not retrieved
    n_unjudged_queries : queries of the run without a judgement, which are left out
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


def join(qrels: Qrels, run: Run) -> Joined:
    """Combine the documents of each query that were judged or retrieved.

    A retrieved document without a judgement has grade -1, and a judged one that was not retrieved
    has score -inf. Queries are in the order of the judgements; in each, retrieved documents come
    first, in the order of the run. A judged query that the run lacks is kept, with scores of -inf;
    a query of the run without a judgement is left out and counted. Cost: O(n log n).

    Examples
    --------
    >>> qrels = Qrels([1, 1], ["a", "b"], [2, 0])
    >>> run = Run([1, 1, 2], ["c", "a", "a"], [3, 1, 1])
    >>> joined = join(qrels, run)
    >>> joined.dataset.doc_ids.tolist(), joined.dataset.y.tolist(), joined.scores.tolist()
    (['c', 'a', 'b'], [-1.0, 2.0, 0.0], [3.0, 1.0, -inf])
    >>> joined.n_unjudged_queries
    1
    """
    n = len(qrels)
    query, key = _keys(qrels, run, "judgements")
    n_queries = int(query[:n].max(initial=-1)) + 1
    is_judged = query[n:] < n_queries
    if not is_judged.any():
        raise _nothing_in_common("judgements", qrels.query_ids, run.query_ids)
    grades, known = _look_up(key[n:][is_judged], key[:n], qrels.grades, -1.0)
    absent = ~np.isin(key[:n], key[n:])
    row_query = np.r_[query[n:][is_judged], query[:n][absent]]
    order = np.argsort(row_query, kind="stable")
    _, first = np.unique(query[:n], return_index=True)
    dataset = QueryDataset(
        np.empty((len(order), 0), np.float32),
        np.r_[grades, qrels.grades[absent]][order],
        np.r_[0, np.cumsum(np.bincount(row_query, minlength=n_queries))],
        qrels.query_ids[first],
        np.concatenate([run.doc_ids[is_judged], qrels.doc_ids[absent]])[order],
    )
    return Joined(
        dataset,
        np.r_[run.scores[is_judged], np.full(absent.sum(), -np.inf)][order],
        n_unjudged_queries=len(np.unique(query[n:][~is_judged])),
        n_missing_queries=n_queries - len(np.unique(query[n:][is_judged])),
        n_unjudged=int((~known).sum()),
        n_not_retrieved=int(absent.sum()),
    )


def run_scores(dataset: QueryDataset, run: Run) -> NDArray[np.float64]:
    """Return the run's score of each document of a data set; -inf if it was not retrieved.

    Queries that the data set lacks are ignored. A document that it lacks, in a query that it has,
    is an error, because leaving it out would make the run look better; :func:`join` keeps such
    documents as unjudged. Without document ids, the id of a document is its row in the caller's
    order.
    """
    known = Qrels(dataset.qid, _doc_ids(dataset), dataset.y)
    n = len(known)
    query, key = _keys(known, run, "data set")
    is_judged = query[n:] <= query[:n].max(initial=-1)
    if not is_judged.any():
        raise _nothing_in_common("data set", known.query_ids, run.query_ids)
    stray = np.flatnonzero(is_judged & ~np.isin(key[n:], key[:n]))
    if len(stray):
        query_id, doc_id = run.query_ids[stray[0]], run.doc_ids[stray[0]]
        raise DataError(
            f"{len(stray):,} documents of the run are not in the data set, the first {doc_id!r} of "
            f"query {query_id}; to keep them as unjudged use join(qrels_from_dataset(dataset), run)"
        )
    return _look_up(key[:n], key[n:], run.scores, -np.inf)[0]


def run_from_scores(dataset: QueryDataset, scores: ArrayLike, tag: str = "rankloop") -> Run:
    """Make a run of one score per document, in rank order; equal scores keep the data set's order.

    A score of -inf means not retrieved: the document is left out. Without document ids, a
    document's id is its row in the caller's order, as text.

    Examples
    --------
    >>> data = QueryDataset.from_arrays([[1], [2], [3]], [0, 1, 2], qid=[7, 7, 8], doc_ids=[*"abc"])
    >>> run_from_scores(data, [0.1, 0.9, 0.5]).doc_ids.tolist()
    ['b', 'a', 'c']
    """
    values = np.asarray(scores, dtype=np.float64)
    check_length("scores", values, dataset.n_documents)
    order = np.lexsort((-values, np.repeat(np.arange(len(dataset)), dataset.sizes)))
    order = order[values[order] != -np.inf]
    return Run(dataset.qid[order], _doc_ids(dataset)[order], values[order], tag)


def dataset_from_qrels(qrels: Qrels) -> QueryDataset:
    """Return the judged documents as a data set without features.

    Examples
    --------
    >>> dataset_from_qrels(Qrels([1, 1], ["a", "b"], [2, 0]))
    QueryDataset(1 query, 2 documents, 0 features, grades 0 to 2)
    """
    return QueryDataset.from_grouping(
        np.empty((len(qrels), 0), np.float32),
        qrels.grades,
        group_by_id(qrels.query_ids),
        doc_ids=qrels.doc_ids,
    )


def qrels_from_dataset(dataset: QueryDataset) -> Qrels:
    """Return the judged documents (grade >= 0) of a data set, in the caller's row order.

    Without document ids, a document's id is its row in the caller's order, as text.
    """
    columns = (dataset.qid, _doc_ids(dataset), dataset.y)
    judged = dataset.in_row_order(dataset.y) >= 0
    return Qrels(*(dataset.in_row_order(column)[judged] for column in columns))


def _doc_ids(dataset: QueryDataset) -> Ids:
    if dataset.doc_ids is not None:
        return dataset.doc_ids
    rows = np.arange(dataset.n_documents) if dataset.rows is None else dataset.rows
    return rows.astype(TEXT)


def _keys(left: Qrels, run: Run, what: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return numbers for the queries and the (query, document) pairs of `left` and `run` together.

    Queries are numbered in order of appearance, so that those of `left` come first.
    """
    query_ids = [left.query_ids, run.query_ids]
    if query_ids[0].dtype != query_ids[1].dtype:
        query_ids = [ids.astype(TEXT) for ids in query_ids]
    query = number_ids([*query_ids[0].tolist(), *query_ids[1].tolist()], {})
    doc = number_ids([*left.doc_ids.tolist(), *run.doc_ids.tolist()], {})
    key = query * (doc.max(initial=0) + 1) + doc
    for rows, part, name in ((left, key[: len(left)], what), (run, key[len(left) :], "run")):
        again = first_repeat(part)
        if again is not None:
            query_id, doc_id = rows.query_ids[again[1]], str(rows.doc_ids[again[1]])
            raise DataError(
                f"document {doc_id!r} of query {query_id} occurs twice in the {name}, in "
                f"rows {again[0]} and {again[1]}; keep one of the two"
            )
    return query, key


def _look_up(
    key: NDArray[np.int64], known: NDArray[np.int64], values: NDArray[np.float64], missing: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the values of keys, and which keys are known."""
    order = np.argsort(known)
    at = order[np.minimum(np.searchsorted(known, key, sorter=order), len(known) - 1)]
    is_known = known[at] == key
    return np.where(is_known, values[at], missing), is_known


def _nothing_in_common(what: str, ids: Ids, run_ids: Ids) -> DataError:
    def some(values: Ids) -> str:
        return ", ".join(map(repr, values[:1].tolist())) or "no query"

    return DataError(
        f"the run and the {what} have no query in common: the {what} start with {some(ids)}, the "
        f"run with {some(run_ids)}; check that they belong together"
    )
