"""The names of the formats of data, and how a file's format is decided."""

from __future__ import annotations

import os
import re

from rankloop._utils.argument_names import argument
from rankloop._utils.arguments import path_text
from rankloop.data.io.files import bare_suffix, open_input
from rankloop.exceptions import DataError, ParseError

PathLike = str | os.PathLike[str]

FORMATS = ("letor", "parquet", "arrow", "csv", "tsv", "jsonl", "qrels", "rlds")
TABLES = ("parquet", "arrow", "csv", "tsv", "jsonl", "sql")
BY_SUFFIX = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".qrels": "qrels",
    ".rlds": "rlds",
}
TEXT_SUFFIXES = (
    ".txt",
    ".svm",
    ".svmlight",
    ".libsvm",
    ".dat",
    ".data",
    ".train",
    ".test",
    ".letor",
)
_SQL = ("duckdb:", "postgresql:", "postgres:")


def is_sql(place: PathLike) -> bool:
    """Whether this is a query of a database."""
    return path_text(place).startswith(_SQL)


def detect(path: PathLike) -> str:
    """Return the format of an existing file, by its first bytes, its suffix and its first line.

    Raises
    ------
    ParseError
        if the file cannot be read.
    """
    name = os.fspath(path)
    if name == "-":
        return "letor"
    if is_sql(name):
        return "sql"
    with open_input(name) as stream:
        head = stream.read(1 << 16)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    if head.startswith(b"RLDATA") or bare_suffix(name) == ".rlds":
        return "rlds"
    if BY_SUFFIX.get(bare_suffix(name)) in ("csv", "tsv", "jsonl"):
        return BY_SUFFIX[bare_suffix(name)]
    _refuse_other_bytes(name, head)
    lines = (line.split() for line in head.splitlines())
    words = next((line for line in lines if line and not line[0].startswith(b"#")), [])
    if words and words[0].startswith((b"{", b"[")):
        return "jsonl"
    if len(words) == 4 and not any(b":" in word for word in words):
        return "qrels"
    first = head.lstrip().split(b"\n", 1)[0]
    named = re.match(rb"[A-Za-z_\"]", first) and not re.search(rb"\b(qid|\d+):", first)
    return "csv" if named and re.search(rb"[,;|\t]", first) else "letor"


def _refuse_other_bytes(name: str, head: bytes) -> None:
    """Raise if text of another encoding, or a file in a file, would be taken for LETOR text."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ParseError(name, 1, "it is UTF-16 text; save it as UTF-8")
    if head[:2] == b"\x1f\x8b":
        raise ParseError(name, None, "it is compressed twice; decompress it once")
    if head[257:262] == b"ustar":
        raise ParseError(name, None, "it is a tar archive; unpack it, and name the files to read")


def decide_format(path: PathLike, format: str | None = None) -> str:
    """Return the format in which to read a file: the given one, or else the detected one.

    This is the one place where that is decided. Detection opens the file, so callers decide once
    and pass the result on, for example as `format=` of :func:`rankloop.read`. The file itself is
    not passed on: the formats of all files are needed before the first is read (to check options,
    and to read tables together), and a folder may have more files than a process may hold open.
    """
    check_format(format)
    if is_sql(path):
        return "sql"
    return format or detect(path)


def decide_table_format(path: PathLike, format: str | None = None) -> str:
    """Return the format of a file that holds a table; if nothing else is known, it is Parquet."""
    decided = decide_format(path, format)
    return decided if decided in TABLES else "parquet"


def check_format(format: str | None) -> None:
    """Raise if a format is unknown; None leaves it open."""
    if not (format is None or (isinstance(format, str) and format in ("sql", *FORMATS))):
        raise DataError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")


def format_for(path: PathLike) -> str:
    """Return the format to write, by a file's name: LETOR text for text, or without a suffix."""
    suffix = bare_suffix(path)
    if suffix in BY_SUFFIX:
        return BY_SUFFIX[suffix]
    if not suffix or suffix in TEXT_SUFFIXES or os.fspath(path) == "-":
        return "letor"
    known = ", ".join(("letor text (.txt)", *(f"{f} (.{f})" for f in FORMATS[1:])))
    raise DataError(
        f"cannot tell from the suffix {suffix!r} of {os.fspath(path)!r} which "
        f"format to write; known: {known}; or choose one with {argument('format')}"
    )
