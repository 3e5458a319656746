"""Read click logs in any format, which is detected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop._utils.argument_names import argument
from rankloop.clicks.log.columns import ROLES
from rankloop.clicks.log.parts import read_rows
from rankloop.clicks.log.relpred import read_relpred
from rankloop.clicks.log.table import ClickTable
from rankloop.clicks.log.tiangong import read_tiangong
from rankloop.clicks.log.ubi import read_ubi
from rankloop.clicks.log.yandex import read_yandex_clicks
from rankloop.data.io.files import bare_suffix, open_input
from rankloop.data.io.locations import data_files, is_remote
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from rankloop.clicks.log.log import ClickLog

FORMATS = ("table", "ubi", "yandex", "relpred", "tiangong")
"""The formats of click logs."""
_TABLES = (".csv", ".tsv", ".parquet", ".pq", ".arrow", ".feather", ".ipc")
_JSON = (".json", ".jsonl", ".ndjson")
_READERS: Mapping[str, Callable[..., ClickLog]] = {
    "ubi": read_ubi,
    "yandex": read_yandex_clicks,
    "relpred": read_relpred,
    "tiangong": read_tiangong,
}


def read_clicks(
    paths: Sequence[str | os.PathLike[str]],
    format: str | None = None,  # noqa: A002 - what it is
    columns: Mapping[str, str] | None = None,
    *,
    skip_bad_rows: bool = False,
    drop_duplicates: bool = False,
    encoding: str | None = None,
) -> ClickLog:
    """Read a click log: a table with one row per shown document, or a format of its own.

    Parameters
    ----------
    paths : files, folders or patterns, which together are one log
    format : `table`, `ubi`, `yandex`, `relpred` or `tiangong`; None: the first file decides
    columns : the columns of a table by role, for example `{"query": "srch_id"}`
    skip_bad_rows : whether rows that cannot be used are left out, and counted in the notes
    drop_duplicates, encoding : of tables, as in
        :func:`rankloop.clicks.log.table.read_click_table`
    """
    if not paths:
        raise DataError("name at least one file of clicks")
    files = [file for path in paths for file in data_files(path)]
    kind = format or detect_format(files[0])
    if kind not in FORMATS:
        raise DataError(f"unknown format {kind!r} of clicks; known: {', '.join(FORMATS)}")
    if kind == "table":
        return read_click_rows(
            files,
            columns,
            skip_bad_rows=skip_bad_rows,
            drop_duplicates=drop_duplicates,
            encoding=encoding,
        ).log
    for name, given in (
        ("columns", columns),
        ("drop_duplicates", drop_duplicates),
        ("encoding", encoding),
    ):
        if given:
            raise DataError(
                f"{argument(name)} is for tables, but the format is {kind}; leave it out"
            )
    return _READERS[kind](*files, skip_bad_rows=skip_bad_rows)


def read_click_rows(
    paths: Sequence[str | os.PathLike[str]],
    columns: Mapping[str, str] | None = None,
    *,
    skip_bad_rows: bool = False,
    drop_duplicates: bool = False,
    encoding: str | None = None,
) -> ClickTable:
    """Read a click table with its other columns; parameters as in :func:`read_clicks`."""
    rows = read_rows(paths, encoding or "utf-8", skip_bad_rows)
    return ClickTable(rows, columns or {}, skip_bad_rows, drop_duplicates)


def detect_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a log, by the suffix and the beginning of a file."""
    suffix = bare_suffix(path)
    if suffix in _TABLES or is_remote(path):
        return "table"
    with open_input(path) as stream:
        head = stream.read(1 << 16)
    if head[:4] == b"PAR1" or head[:6] == b"ARROW1":
        return "table"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if suffix in _JSON or text[:1] in (b"{", b"["):
        return "table" if _has_clicks(text) else "ubi"
    if text[:1] == b"<":
        return "tiangong"
    line = text.split(b"\n", 1)[0]
    words = line.split(b"\t")
    if len(words) > 3 and words[2] in (b"Q", b"C"):
        return "relpred"
    if suffix == ".txt" and b"\t" in line and b":" in line:
        return "yandex"
    raise DataError(
        f"cannot tell the format of {Path(path).name}; give --format {', '.join(FORMATS[:-1])} or "
        f"{FORMATS[-1]}"
    )


def _has_clicks(text: bytes) -> bool:
    """Whether the first JSON object says if something was clicked, as a row of a table does."""
    start = text.find(b"{")
    try:
        first, _ = json.JSONDecoder().raw_decode(text[start:].decode("utf-8", "ignore"))
    except (ValueError, RecursionError):
        return False
    return bool({str(key).lower() for key in first}.intersection(ROLES["clicked"]))
