"""Read click logs in any format, which is detected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.clicks.log.table import read_click_table
from rankloop.clicks.log.ubi import read_ubi
from rankloop.clicks.log.yandex import read_yandex_clicks
from rankloop.data.io.files import bare_suffix
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from rankloop.clicks.log.log import ClickLog

FORMATS: Mapping[str, tuple[str, ...]] = {
    "table": (".csv", ".tsv", ".parquet", ".arrow", ".feather"),
    "ubi": (".json", ".jsonl", ".ndjson"),
    "yandex": (".txt",),
}
"""The formats of click logs, with their usual suffixes."""


def read_clicks(
    paths: Sequence[str | os.PathLike[str]],
    format: str | None = None,  # noqa: A002 - what it is
    columns: Mapping[str, str] | None = None,
) -> ClickLog:
    """Read a click log: a table with one row per shown document, UBI, or Yandex's text.

    Parameters
    ----------
    paths : one file, or several of UBI
    format : `table`, `ubi` or `yandex`; None: the suffix of the first file decides
    columns : the columns of a table by role, for example `{"query": "srch_id"}`
    """
    if not paths:
        raise DataError("name at least one file of clicks")
    kind = format or _kind(paths[0])
    if kind not in FORMATS:
        raise DataError(f"unknown format {kind!r} of clicks; known: {', '.join(FORMATS)}")
    if columns and kind != "table":
        raise DataError(
            f"only tables have named columns, but the format is {kind}; leave the columns out"
        )
    if kind == "ubi":
        return read_ubi(*paths)
    if len(paths) > 1:
        raise DataError(f"found {len(paths)} files in the format {kind}; expected one")
    if kind == "table":
        return read_click_table(paths[0], **dict(columns or {}))
    return read_yandex_clicks(paths[0])


def _kind(path: str | os.PathLike[str]) -> str:
    suffix = bare_suffix(path)
    for kind, suffixes in FORMATS.items():
        if suffix in suffixes:
            return kind
    raise DataError(
        f"cannot tell the format of {Path(path).name}; give --format table, ubi or yandex"
    )
