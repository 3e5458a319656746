"""TREC files: relevance judgements (qrels) and system output (runs).

A qrels line is `query 0 document grade`, a run line `query Q0 document rank score tag`, separated
by blanks. The second field and a run's rank are not used: scores decide the order.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.files import open_input, open_output
from rankloop.data.grouping import TEXT, as_ids, group_by_id, ids_from_text
from rankloop.data.validation import as_text, check_length
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

_CHUNK = 2**22
_BLANK = np.isin(np.arange(256), list(b" \t\n\r\v\f"))
_QRELS = ("query", "0", "document", "grade")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgements, one a row: query ids (numbers or text), document ids (text), finite grades."""

    query_ids: NDArray[Any]
    doc_ids: NDArray[Any]
    grades: NDArray[np.float64]

    def __post_init__(self) -> None:
        _settle(self, "grades")

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
        _settle(self, "scores")

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
    columns = zip(
        _words(qrels.query_ids, "query id"),
        _words(qrels.doc_ids, "document id"),
        qrels.grades.tolist(),
        strict=True,
    )
    _write(
        path,
        (f"{q} 0 {doc} {int(g) if g.is_integer() else repr(g)}\n" for q, doc, g in columns),
    )


def write_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run in rank order, compressed as the suffix says; whole or not at all.

    Queries stand in order of first appearance, equal scores in the order of the rows, ranks count
    from 1. Scores are written so that they read back exactly.
    """
    (tag,) = _words(np.array([run.tag], TEXT), "tag")
    query = _number(run.query_ids.tolist(), {})
    order = np.lexsort((-run.scores, query))
    sizes = np.bincount(query)
    ranks = np.arange(1, len(run) + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
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
    kept = query[n:] < n_queries
    if not kept.any():
        raise _nothing_in_common("judgements", qrels.query_ids, run.query_ids)
    grades, known = _look_up(key[n:][kept], key[:n], qrels.grades, -1.0)
    absent = ~np.isin(key[:n], key[n:])
    row_query = np.r_[query[n:][kept], query[:n][absent]]
    order = np.argsort(row_query, kind="stable")
    _, first = np.unique(query[:n], return_index=True)
    dataset = QueryDataset(
        np.empty((len(order), 0), np.float32),
        np.r_[grades, qrels.grades[absent]][order],
        np.r_[0, np.cumsum(np.bincount(row_query, minlength=n_queries))],
        qrels.query_ids[first],
        np.concatenate([run.doc_ids[kept], qrels.doc_ids[absent]])[order],
    )
    return Joined(
        dataset,
        np.r_[run.scores[kept], np.full(absent.sum(), -np.inf)][order],
        n_unjudged_queries=len(np.unique(query[n:][~kept])),
        n_missing_queries=n_queries - len(np.unique(query[n:][kept])),
        n_unjudged=int((~known).sum()),
        n_not_retrieved=int(absent.sum()),
    )


def run_scores(dataset: QueryDataset, run: Run) -> NDArray[np.float64]:
    """Return the run's score of each document of a data set; -inf where it did not retrieve it.

    Queries that the data set lacks are passed over. A document that it lacks, in a query that it
    has, is an error, since leaving it out would flatter the run: :func:`join` keeps such documents
    as unjudged. Without document ids, a document's id is its row in the caller's order.
    """
    known = Qrels(dataset.qid, _doc_ids(dataset), dataset.y)
    n = len(known)
    query, key = _keys(known, run, "data set")
    kept = query[n:] <= query[:n].max(initial=-1)
    if not kept.any():
        raise _nothing_in_common("data set", known.query_ids, run.query_ids)
    stray = np.flatnonzero(kept & ~np.isin(key[n:], key[:n]))
    if len(stray):
        query_id, doc_id = run.query_ids[stray[0]], run.doc_ids[stray[0]]
        raise DataError(
            f"{len(stray):,} documents of the run are not in the data set, the first {doc_id!r} of "
            f"query {query_id}; to keep them as unjudged use join(qrels_from_dataset(dataset), run)"
        )
    return _look_up(key[:n], key[n:], run.scores, -np.inf)[0]


def run_from_scores(dataset: QueryDataset, scores: ArrayLike, tag: str = "rankloop") -> Run:
    """Make a run of one score a document, in rank order; equal scores keep the data set's order.

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


# --- reading and writing ---


def _read(
    path: str | os.PathLike[str], fields: tuple[str, ...]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64], str]:
    """Return query, document and value (grade or score) of each line, and the first line's tag."""
    name = os.fspath(path)
    queries: dict[str, int] = {}
    docs: dict[str, int] = {}
    value_at = fields.index("score") if "score" in fields else fields.index("grade")
    parts: list[tuple[NDArray[Any], ...]] = []
    tag = ""
    with open_input(path) as stream:
        for first, chunk in _chunks(stream):
            counts = _count_fields(chunk)
            wrong = np.flatnonzero((counts != 0) & (counts != len(fields)))
            if len(wrong):
                raise ParseError(
                    name,
                    first + int(wrong[0]),
                    f"{counts[wrong[0]]} fields; expected {len(fields)}, separated by blanks: "
                    f"{' '.join(fields)}; correct or remove the line",
                )
            lines = first + np.flatnonzero(counts)  # blank lines left out
            if not len(lines):
                continue
            words = chunk.split()
            columns = [words[i :: len(fields)] for i in range(len(fields))]
            tag = tag or _decode(columns[-1][:1], name, lines)[0]
            query = _number(_decode(columns[0], name, lines), queries)
            doc = _number(_decode(columns[2], name, lines), docs)
            parts.append(
                (query, doc, _numbers(columns[value_at], fields[value_at], name, lines), lines)
            )
    if not parts:
        raise ParseError(name, None, f"no lines; expected lines of: {' '.join(fields)}")
    query, doc, values, lines = (np.concatenate(column) for column in zip(*parts, strict=True))
    query_ids, doc_ids = ids_from_text([*queries])[query], np.array([*docs], TEXT)[doc]
    again = _first_repeat(query * len(docs) + doc)
    if again is not None:
        earlier, later = again
        raise ParseError(
            name,
            int(lines[later]),
            f"document {str(doc_ids[later])!r} of query {query_ids[later]} is already in line "
            f"{lines[earlier]}; keep one of the two",
        )
    return query_ids, doc_ids, values, tag


def _chunks(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Whole lines, many at once, with the number of the first of them."""
    line, rest = 1, stream.read(3).removeprefix(b"\xef\xbb\xbf")
    while data := stream.read(_CHUNK):
        head, newline, data = data.rpartition(b"\n")
        if newline:
            chunk, rest = rest + head + newline, data
            yield line, chunk
            line += chunk.count(b"\n")
        else:
            rest += data
    yield line, rest + b"\n"


def _count_fields(chunk: bytes) -> NDArray[np.int64]:
    """Fields of each line, blanks being those of `bytes.split`."""
    text = np.frombuffer(chunk, np.uint8)
    blank = _BLANK[text]
    ends = np.flatnonzero(blank[1:] & ~blank[:-1]) + 1  # the blank after each field
    newlines = np.flatnonzero(text == ord("\n"))
    return np.diff(np.searchsorted(ends, newlines, side="right"), prepend=0)


def _decode(words: Sequence[bytes], name: str, lines: NDArray[np.int64]) -> list[str]:
    try:
        return b"\n".join(words).decode().split("\n")
    except UnicodeDecodeError as error:
        at = error.object[: error.start].count(b"\n")
        raise ParseError(
            name, int(lines[at]), f"{words[at]!r} is not UTF-8; convert the file to UTF-8"
        ) from None


def _numbers(
    words: Sequence[bytes], what: str, name: str, lines: NDArray[np.int64]
) -> NDArray[np.float64]:
    with contextlib.suppress(ValueError):
        values = np.array([float(word) for word in words])
        if np.isfinite(values).all() and b"_" not in b"".join(words):
            return values
    at = next(i for i, word in enumerate(words) if not _is_finite(word))
    raise ParseError(
        name,
        int(lines[at]),
        f"the {what} is {words[at].decode(errors='replace')!r}; expected a finite number: correct "
        "or remove the line",
    )


def _is_finite(word: bytes) -> bool:
    try:
        return b"_" not in word and math.isfinite(float(word))  # float takes 1_000
    except ValueError:
        return False


def _write(path: str | os.PathLike[str], lines: Iterator[str]) -> None:
    with open_output(path) as stream:
        while block := "".join(itertools.islice(lines, 65_536)):
            stream.write(block.encode())


def _words(values: NDArray[Any], what: str) -> list[str]:
    """Ids as text; each must be one field of a line."""
    words: list[str] = values.astype(TEXT).tolist()
    line = " ".join(words).encode()
    fields = line.split()
    if len(fields) != len(words) or b" ".join(fields) != line:
        bad = next(word for word in words if word.encode().split() != [word.encode()])
        raise DataError(
            f"the {what} {bad!r} is empty or has blanks, which separate the fields of a TREC file; "
            "rename it"
        )
    return words


# --- matching ---


def _settle(rows: Qrels | Run, values: str) -> None:
    """Bring the columns of a value object to their types, and check them."""
    numbers = np.asarray(getattr(rows, values), dtype=np.float64)
    query_ids, doc_ids = as_ids(rows.query_ids, "query_ids"), as_text(rows.doc_ids, "doc_ids")
    check_length("query_ids", query_ids, len(numbers))
    check_length("doc_ids", doc_ids, len(numbers))
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise DataError(f"{values} must be finite; found {numbers[bad[0]]} in row {bad[0]}")
    for name, column in ((values, numbers), ("query_ids", query_ids), ("doc_ids", doc_ids)):
        object.__setattr__(rows, name, column)


def _doc_ids(dataset: QueryDataset) -> NDArray[Any]:
    if dataset.doc_ids is not None:
        return dataset.doc_ids
    rows = np.arange(dataset.n_documents) if dataset.rows is None else dataset.rows
    return rows.astype(TEXT)


def _number(ids: Sequence[Any], numbers: dict[Any, int]) -> NDArray[np.int64]:
    """Give numbers to ids as they appear, going on from `numbers`."""
    for new in dict.fromkeys(ids):
        numbers.setdefault(new, len(numbers))
    return np.fromiter(map(numbers.__getitem__, ids), np.int64, len(ids))


def _keys(left: Qrels, run: Run, what: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give numbers to the queries and the (query, document) pairs of `left`, then of `run`, alike.

    Queries are numbered as they appear, so that those of `left` come first.
    """
    query_ids = [left.query_ids, run.query_ids]
    if query_ids[0].dtype != query_ids[1].dtype:
        query_ids = [ids.astype(TEXT) for ids in query_ids]
    query = _number([*query_ids[0].tolist(), *query_ids[1].tolist()], {})
    doc = _number([*left.doc_ids.tolist(), *run.doc_ids.tolist()], {})
    key = query * (doc.max(initial=0) + 1) + doc
    for rows, part, name in ((left, key[: len(left)], what), (run, key[len(left) :], "run")):
        again = _first_repeat(part)
        if again is not None:
            query_id, doc_id = rows.query_ids[again[1]], str(rows.doc_ids[again[1]])
            raise DataError(
                f"document {doc_id!r} of query {query_id} is twice in the {name}, in rows "
                f"{again[0]} and {again[1]}; keep one of the two"
            )
    return query, key


def _first_repeat(key: NDArray[np.int64]) -> tuple[int, int] | None:
    """Return the first row whose key stood before, after the row where it stood."""
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    if not len(same):
        return None
    at = same[np.argmin(order[same + 1])]
    return int(order[at]), int(order[at + 1])


def _look_up(
    key: NDArray[np.int64], known: NDArray[np.int64], values: NDArray[np.float64], missing: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values of keys by those known, and which were."""
    order = np.argsort(known)
    at = order[np.minimum(np.searchsorted(known, key, sorter=order), len(known) - 1)]
    found = known[at] == key
    return np.where(found, values[at], missing), found


def _nothing_in_common(what: str, ids: NDArray[Any], run_ids: NDArray[Any]) -> DataError:
    def some(values: NDArray[Any]) -> str:
        return ", ".join(map(repr, values[:1].tolist())) or "no query"

    return DataError(
        f"the run and the {what} have no query in common: the {what} start with {some(ids)}, the "
        f"run with {some(run_ids)}; check that they belong together"
    )
