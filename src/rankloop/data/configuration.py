"""Detect how to read some data, and write it as TOML with comments."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.data.io.formats import read
from rankloop.data.io.replacing import replace_when_done
from rankloop.data.io.tables.leaks import leaks
from rankloop.exceptions import DataError, ParseError
from rankloop.features.columns import Features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.data.io.tables.roles import Columns

KEYS = (
    "paths",
    "format",
    "query",
    "label",
    "click",
    "doc_id",
    "weight",
    "position",
    "features",
    "drop",
    "include",
    "category",
    "lists",
    "missing",
    "decimal",
    "thousands",
    "encoding",
    "skip_bad_rows",
    "n_features",
    "null",
)
"""What a configuration may say under [data]."""


@dataclass(frozen=True)
class DataDescription:
    """What was found: settings of [data], and their comments."""

    settings: dict[str, object]
    comments: tuple[str, ...]
    summary: str


def describe(paths: Sequence[str], options: dict[str, Any]) -> DataDescription:
    """Read data with the given options, and return how it was understood."""
    columns: list[Columns] = []
    data = read(*paths, labelled=False, notice=columns.append, **options)
    roles: dict[str, str] = columns[0].roles if columns else {}
    settings: dict[str, object] = {"paths": [os.fspath(path) for path in paths]}
    for name in KEYS:
        value = roles.get(name, options.get(name))
        if value not in (None, [], False):
            settings[name] = value
    if "doc_weight" in roles:
        settings["weight"] = roles["doc_weight"]
    unsure = _unsure(data, options)
    if unsure:
        settings["drop"] = [*(options.get("drop") or []), *unsure]
    return DataDescription(settings, tuple(_comments(data, unsure)), str(data))


def _unsure(data: QueryDataset, options: dict[str, Any]) -> list[str]:
    """Return the columns that training refuses unless somebody says what they are."""
    included = options.get("include") or []
    return [name for name in leaks(Features.of(data).names) if name not in included]


def _comments(data: QueryDataset, unsure: Sequence[str]) -> list[str]:
    import numpy as np

    comments = [str(data)]
    if not (data.y >= 0).any():
        comments.append("there are no grades: name their column with label, to train")
    missing = np.isnan(data.X).mean(axis=0) if data.has_missing else np.zeros(data.n_features)
    for column, share in zip(Features.of(data), missing, strict=True):
        words: str = column.kind
        if column.kind == "category":
            words += f" of {len(column.categories):,}"
        if share > 0:
            words += f", {100 * share:.0f}% missing"
        if column.name in unsure:
            words += "; dropped below: if it is known before ranking, include it instead"
        elif column.kind == "category":
            words += _advise(column.name, column.categories)
        comments.append(f"  {column.name}: {words}")
    return comments


def _advise(name: str, categories: Sequence[object]) -> str:
    """Return what a column of categories may be instead."""
    if any("|" in str(category) for category in categories):
        return f'; several in one text? then lists = ["{name}=|"]'
    if name.lower() in ("id", "item_id", "sku"):
        return f'; ids of documents? then doc_id = "{name}", and no feature'
    return ""


def write(description: DataDescription, path: str | os.PathLike[str]) -> None:
    """Write a configuration, completely or not at all."""
    lines = ["# How Rankloop reads this data. Any command takes it with --config.", "#"]
    lines += [f"# {comment}" for comment in description.comments]
    lines += ["", "[data]"]
    lines += [f"{name} = {_toml(value)}" for name, value in description.settings.items()]
    lines += [
        "",
        "# Columns to leave out, and numbers that are categories:",
        *(f"# {name} = []" for name in ("drop", "category") if name not in description.settings),
    ]
    with replace_when_done(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)  # text, numbers and booleans are the same in TOML


def read_configuration(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the settings of a configuration under [data].

    Relative paths are relative to the folder of the file.
    """
    name = os.fspath(path)
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError(name, None, f"cannot read it: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ParseError(name, None, f"it is not TOML: {error}") from None
    settings = document.get("data", {})
    unknown = [key for key in settings if key not in KEYS] if isinstance(settings, dict) else []
    if not isinstance(settings, dict) or unknown or set(document) - {"data"}:
        what = (unknown or sorted(set(document) - {"data"}) or ["data"])[0]
        raise DataError(f"{name}: unknown setting {what!r}; known under [data]: {', '.join(KEYS)}")
    return settings
