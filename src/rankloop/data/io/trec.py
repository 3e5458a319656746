"""TREC files: relevance judgements (qrels) and system output (runs).

A qrels line is `query 0 document grade`, a run line `query Q0 document rank score tag`, separated
by blanks. The second field and the rank of a run are ignored: scores determine the order.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from rankloop._utils.messages import count
from rankloop.data.grouping import TEXT, as_ids, ids_from_text
from rankloop.data.io.files import open_input, open_output
from rankloop.data.validation import as_text, check_length
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeVar

    from numpy.typing import NDArray

    from rankloop.data.grouping import Ids

    T = TypeVar("T")

_CHUNK = 2**22
_BLANK = np.isin(np.arange(256), list(b" \t\n\r\v\f"))
_QRELS = ("query", "0", "document", "grade")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgements, one per row: query ids (numbers or text), document ids (text), finite grades."""

    query_ids: Ids
    doc_ids: Ids
    grades: NDArray[np.float64]

    def __post_init__(self) -> None:
        _settle(self, "grades")

    def __len__(self) -> int:
        return len(self.grades)


@dataclass(frozen=True, eq=False)
class Run:
    """What a system retrieved, one document per row: query ids, document ids, finite scores."""

    query_ids: Ids
    doc_ids: Ids
    scores: NDArray[np.float64]
    tag: str = "rankloop"

    def __post_init__(self) -> None:
        _settle(self, "scores")

    def __len__(self) -> int:
        return len(self.scores)


def read_qrels(path: str | os.PathLike[str]) -> Qrels:
    """Read judgements, compressed or not, in file order; `-` is standard input.

    Raises
    ------
    ParseError
        with the line that is malformed or judges a document again.
    """
    query_ids, doc_ids, grades, _ = _read(path, _QRELS)
    return Qrels(query_ids, doc_ids, grades)


def read_run(path: str | os.PathLike[str]) -> Run:
    """Read a run, compressed or not, in file order; `-` is standard input.

    The tag is that of the first line; errors are those of :func:`read_qrels`.
    """
    query_ids, doc_ids, scores, tag = _read(path, _RUN)
    return Run(query_ids, doc_ids, scores, tag)


def write_qrels(qrels: Qrels, path: str | os.PathLike[str]) -> None:
    """Write judgements in their order; a suffix such as `.gz` compresses the file."""
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
    """Write a run in rank order; a suffix such as `.gz` compresses the file.

    Queries are in order of first appearance, equal scores in the order of the rows, and ranks count
    from 1. Scores are written with all their digits.
    """
    (tag,) = _words(np.array([run.tag], TEXT), "tag")
    query = number_ids(run.query_ids.tolist(), {})
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


def _read(
    path: str | os.PathLike[str], fields: tuple[str, ...]
) -> tuple[Ids, Ids, NDArray[np.float64], str]:
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
                    f"found {count(counts[wrong[0]], 'field', 'fields')}; expected {len(fields)}, "
                    f"separated by blanks: {' '.join(fields)}; correct or remove the line",
                )
            lines = first + np.flatnonzero(counts)  # blank lines left out
            if not len(lines):
                continue
            words = chunk.split()
            columns = [words[i :: len(fields)] for i in range(len(fields))]
            tag = tag or _decode(columns[-1][:1], name, lines)[0]
            query = number_ids(_decode(columns[0], name, lines), queries)
            doc = number_ids(_decode(columns[2], name, lines), docs)
            parts.append(
                (query, doc, _numbers(columns[value_at], fields[value_at], name, lines), lines)
            )
    if not parts:
        raise ParseError(
            name, None, f"the file has no lines; expected lines of: {' '.join(fields)}"
        )
    query, doc, values, lines = (np.concatenate(column) for column in zip(*parts, strict=True))
    query_ids, doc_ids = ids_from_text([*queries])[query], np.array([*docs], TEXT)[doc]
    again = first_repeat(query * len(docs) + doc)
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
    """Yield many whole lines at a time, with the number of the first one."""
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
    """Return the number of fields of each line, separated as by `bytes.split`."""
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


def _words(values: Ids, what: str) -> list[str]:
    """Return ids as text; each must be one field of a line."""
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


def number_ids(ids: Sequence[T], numbers: dict[T, int]) -> NDArray[np.int64]:
    """Return numbers of ids in order of appearance, continuing from `numbers`."""
    for new in dict.fromkeys(ids):
        numbers.setdefault(new, len(numbers))
    return np.fromiter(map(numbers.__getitem__, ids), np.int64, len(ids))


def first_repeat(key: NDArray[np.int64]) -> tuple[int, int] | None:
    """Return the row of a key and the first later row with the same key."""
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    if not len(same):
        return None
    at = same[np.argmin(order[same + 1])]
    return int(order[at]), int(order[at + 1])
