"""One door to all formats: find out what a path holds, read it, write it."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.data.io.files import COMPRESSED_SUFFIXES, bare_suffix, open_input, unreadable
from rankloop.data.io.letor import iter_letor, read_letor, write_letor
from rankloop.data.joining import concat, join_within
from rankloop.data.memory import memory_limit_or_default
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rankloop.data.dataset import QueryDataset

PathLike = str | os.PathLike[str]

FORMATS = ("letor", "parquet", "arrow", "qrels")
_BY_SUFFIX = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".qrels": "qrels",
}
_TEXT_SUFFIXES = (
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
_PARTS = ("train", "vali", "valid", "validation", "test")


def detect(path: PathLike) -> str:
    """Tell the format of an existing file, by its first bytes and its first line.

    Raises
    ------
    ParseError
        where the file cannot be read.
    """
    if os.fspath(path) == "-":
        return "letor"
    with open_input(path) as stream:
        head = stream.read(1 << 16)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    lines = (line.split() for line in head.splitlines())
    words = next((line for line in lines if line and not line[0].startswith(b"#")), [])
    return "qrels" if len(words) == 4 and not any(b":" in word for word in words) else "letor"


def format_for(path: PathLike) -> str:
    """Tell the format to write from a file's name; LETOR text unless the suffix says otherwise."""
    return _BY_SUFFIX.get(bare_suffix(path), "letor")


def data_files(path: PathLike) -> list[Path]:
    """List the data files that a path stands for.

    A file stands for itself. A folder stands for the files in it: `Fold1/{train,vali,test}`, which
    together hold every query, where there are LETOR folds; else its parts `S1`, `S2`, ...; else
    all files with a suffix that we know.
    """
    name = os.fspath(path)
    folder = Path(name)
    if not name:  # which would be the folder we are in
        raise ParseError(name, None, "the name is empty; name a file or folder")
    try:
        if not folder.is_dir():
            return [folder]
        if (folder / "Fold1").is_dir():
            return data_files(folder / "Fold1")
        known = sorted(
            file
            for file in folder.iterdir()
            if file.is_file()
            and (bare_suffix(file) in _TEXT_SUFFIXES or bare_suffix(file) in _BY_SUFFIX)
        )
    except OSError as error:
        raise unreadable(name, error) from None
    parts = [f for f in known if _stem(f)[:1] == "S" and _stem(f)[1:].isdigit()]
    if not parts:
        parts = sorted(
            (f for f in known if _stem(f) in _PARTS), key=lambda f: _PARTS.index(_stem(f))
        )
    if parts or known:
        return parts or known
    raise ParseError(
        name, None, "the folder holds no data files; expected Fold1, S1.txt or the like"
    )


def read(
    *paths: PathLike,
    format: str | None = None,
    memory_limit: int | str | None = None,
    **letor_options: Any,
) -> QueryDataset:
    """Read files or folders of any format we know into one data set.

    Parameters
    ----------
    paths : see :func:`data_files`
    format : one of `FORMATS`; default: found out from each file
    memory_limit : what reading all of them may take together, as in :func:`read_letor`
    letor_options : see :class:`rankloop.data.io.letor_options.LetorOptions`; for text files
    """
    if not paths:
        raise DataError("name at least one file or folder to read")
    files = list(itertools.chain.from_iterable(data_files(path) for path in paths))
    left = memory_limit_or_default(memory_limit)
    parts: list[QueryDataset] = []
    for file in files:
        parts.append(_read_one(file, format, max(left, 1), letor_options))
        left -= parts[-1].nbytes
    return join_within(parts, left)


def _read_one(
    path: Path,
    format: str | None,
    memory_limit: int | str | None,
    options: dict[str, Any],
) -> QueryDataset:
    known = _known(format) or detect(path)
    if known == "letor":
        return read_letor(path, memory_limit=memory_limit, **options)
    if known == "qrels":
        from rankloop.data.io.trec import read_qrels
        from rankloop.data.io.trec_join import dataset_from_qrels

        return dataset_from_qrels(read_qrels(path))
    from rankloop.data.io.table import read_table

    return read_table(path, memory_limit=memory_limit)


def read_batches(
    path: PathLike,
    *,
    format: str | None = None,
    progress: Callable[[float], None] | None = None,
    **letor_options: Any,
) -> Iterator[QueryDataset]:
    """Read a file of any size in batches of whole queries, in bounded memory.

    In text, each run of consecutive rows with one id is a query, and an id that comes again is
    another query; in tables, a query that starts again is an error. Judgements (qrels) are one
    batch. `progress` is called before each batch with the share of the file read so far.
    """
    known = _known(format) or detect(path)
    if known == "letor":
        yield from iter_letor(path, progress=progress, **letor_options)
    elif known == "qrels":
        yield _read_one(Path(path), known, None, {})
    else:
        from rankloop.data.io.table import iter_table

        yield from iter_table(path, progress=progress)


def write_batches(
    batches: Iterable[QueryDataset],
    path: PathLike,
    *,
    format: str | None = None,
    **options: Any,
) -> None:
    """Write data sets, one after the other, to one file; it appears whole or not at all.

    Parameters
    ----------
    format : one of `FORMATS`; default: as the suffix says
    options : of the format's writer: `sparse` and `zero_based` for text, `layout` for tables
    """
    known = _known(format) or format_for(path)
    if known == "letor":
        write_letor(batches, path, **options)
    elif known == "qrels":
        from rankloop.data.io.trec import write_qrels
        from rankloop.data.io.trec_join import qrels_from_dataset

        write_qrels(qrels_from_dataset(concat(list(batches))), path)
    else:
        from rankloop.data.io.table import write_table

        if os.fspath(path) == "-" or Path(path).suffix in COMPRESSED_SUFFIXES:
            raise DataError(
                f"cannot write a table to {os.fspath(path)!r}: it needs a file, and is compressed "
                f"inside; name it for example 'data.{known}'"
            )
        write_table(batches, path, format="parquet" if known == "parquet" else "arrow", **options)


def _known(format: str | None) -> str | None:
    if format is not None and format not in FORMATS:
        raise DataError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    return format


def _stem(file: Path) -> str:
    return (file.with_suffix("") if file.suffix in COMPRESSED_SUFFIXES else file).stem
