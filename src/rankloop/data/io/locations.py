"""Locations of data: files, folders, patterns, remote stores and databases."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop._utils.arguments import path_text
from rankloop.data.io.files import COMPRESSED_SUFFIXES, bare_suffix, unreadable
from rankloop.data.io.format_names import BY_SUFFIX, TEXT_SUFFIXES, PathLike, is_sql
from rankloop.exceptions import DataError, MissingExtraError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PARTS = ("train", "vali", "valid", "validation", "test")
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]*(::|://)", re.IGNORECASE)
_PATTERN = re.compile(r"[*?\[]")


def is_remote(place: PathLike) -> bool:
    """Whether this is a location for fsspec, such as `s3://bucket/part-*.parquet`."""
    return not is_sql(place) and _REMOTE.match(os.fspath(place)) is not None


def data_files(place: PathLike) -> list[str]:
    """List the data files of a location.

    A file is itself, and a pattern (`part-*.csv`) means the files that match it, in the order of
    their names. A folder means the files in it: `Fold1/{train,vali,test}`, which together hold
    every query, if there are LETOR folds; otherwise its parts `S1`, `S2`, ...; otherwise all files
    with a known suffix, in the folder or, if it has none, in folders below. Files whose names start
    with a dot or an underscore are ignored.
    """
    name = path_text(place)
    if not name:  # which would be the folder we are in
        raise ParseError(name, None, "the name is empty; name a file or folder")
    if is_sql(name):
        return [name]
    if is_remote(name):
        return _remote_files(name)
    folder = Path(name)
    try:
        if not folder.is_dir():
            if _PATTERN.search(name) and not folder.exists():
                return _fitting(name)
            return [name]
        if (folder / "Fold1").is_dir():
            return data_files(folder / "Fold1")
        known = _list_files(folder.iterdir()) or _list_files(folder.rglob("*"))
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None
    parts = [f for f in known if stem(f)[:1] == "S" and stem(f)[1:].isdigit()]
    if not parts:
        parts = sorted((f for f in known if stem(f) in _PARTS), key=lambda f: _PARTS.index(stem(f)))
    if parts or known:
        return [str(file) for file in parts or known]
    raise ParseError(
        name,
        None,
        ("the folder contains no data files; expected for example Fold1, S1.txt or part-0.parquet"),
    )


def _fitting(pattern: str) -> list[str]:
    places = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - pathlib has no such pattern
    files = [name for place in places for name in data_files(place)]
    if not files:
        raise ParseError(pattern, None, "no file matches this pattern")
    return files


def _list_files(files: Iterator[Path]) -> list[Path]:
    return sorted(
        file
        for file in files
        if file.name[0] not in "._"
        and (bare_suffix(file) in TEXT_SUFFIXES or bare_suffix(file) in BY_SUFFIX)
        and file.is_file()
    )


def stem(file: PathLike) -> str:
    """Return a file's name without its suffixes: `train.txt.gz` -> `train`."""
    path = Path(file)
    return (path.with_suffix("") if path.suffix in COMPRESSED_SUFFIXES else path).stem


def _fsspec(name: str) -> tuple[object, str]:
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError("fsspec", "remote", f"reading {name}") from None
    try:
        return fsspec.core.url_to_fs(name)  # type: ignore[no-any-return]
    except ImportError as error:  # as "Install s3fs to access S3"
        raise DataError(f"{name}: {error}") from None
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None


def _remote_files(name: str) -> list[str]:
    system, path = _fsspec(name)
    try:
        if _PATTERN.search(path):
            files = sorted(system.glob(path))  # type: ignore[attr-defined]
        elif system.isdir(path):  # type: ignore[attr-defined]
            files = sorted(system.find(path))  # type: ignore[attr-defined]
            files = [f for f in files if {bare_suffix(f)} & {*BY_SUFFIX, *TEXT_SUFFIXES}]
        else:
            return [name]
    except Exception as error:  # each store raises its own
        raise unreadable(name, error) from None
    if not files:
        raise ParseError(name, None, "there are no data files")
    return [system.unstrip_protocol(file) for file in files]  # type: ignore[attr-defined]


@contextlib.contextmanager
def local_copies(names: list[str]) -> Iterator[list[str]]:
    """Yield files on this machine; remote files are copied while they are read."""
    if not any(map(is_remote, names)):
        yield names
        return
    with tempfile.TemporaryDirectory() as folder:
        yield [_copy(name, folder, k) if is_remote(name) else name for k, name in enumerate(names)]


def _copy(name: str, folder: str, k: int) -> str:
    system, path = _fsspec(name)
    target = Path(folder, str(k), path.rstrip("/").rsplit("/", 1)[-1] or "data")
    target.parent.mkdir()
    try:
        system.get_file(path, str(target))  # type: ignore[attr-defined]
    except Exception as error:  # each store raises its own
        raise unreadable(name, error) from None
    return str(target)
