"""Which column of a table is what: by the caller's word, by our own note, or by its name."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankloop.data.io.table_source import COLUMNS_AT_ONCE, arrow
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankloop.data.io.table_source import Source

ROLES = {
    "label": ("label", "y", "relevance", "grade", "target"),
    "query": ("qid", "query_id", "query", "group"),
    "doc_id": ("doc_id", "docid", "document_id"),
    "doc_weight": ("doc_weight",),
    "query_weight": ("query_weight",),
}
"""What a column can be besides a feature, with its usual names; we write the first of them."""


@dataclass(frozen=True)
class Columns:
    """What each column is."""

    roles: dict[str, str]  # those of ROLES that the table has
    features: tuple[str, ...]
    listed: bool  # features are one list column
    width: int
    names: tuple[str, ...] | None

    @property
    def rows_at_once(self) -> int:
        """Rows to read together: some MB of features."""
        return max(256, min(2**16, 2**21 // max(self.width, 1)))

    def parts(self) -> Iterator[tuple[slice, Columns]]:
        """Give the features some columns at a time, with their place in the matrix."""
        step = self.width if self.listed else COLUMNS_AT_ONCE
        for first in range(0, self.width, max(step, 1)):
            part = slice(first, min(first + step, self.width))
            names = self.names and self.names[part]
            features = self.features if self.listed else self.features[part]
            width = part.stop - part.start
            yield part, Columns(self.roles, features, self.listed, width, names)


def resolve(source: Source, features: str | Sequence[str] | None, *roles: str | None) -> Columns:
    """Decide what each column is, or say which columns there are; roles as in `ROLES`."""
    schema, given = source.schema, dict(zip(ROLES, roles, strict=True))
    present: list[str] = schema.names
    twice = [name for name, count in Counter(present).items() if count > 1]
    if twice:
        raise DataError(f"two columns are named {twice[0]!r}; rename one")
    ours = _our_note(schema)
    chosen = [features] if isinstance(features, str) else features
    named = [*(name for name in given.values() if name is not None), *(chosen or ())]
    for name, count in Counter(named).items():
        if name not in present:
            raise DataError(f"there is no column {name!r}; the columns are {show_names(present)}")
        if count > 1:
            raise DataError(f"column {name!r} is given twice; give each column one use")
    free = [name for name in present if name not in {*named, *ours.get("features", ())}]
    guessed = {role: name or _guess(role, free, present) for role, name in given.items()}
    found = {role: name for role, name in guessed.items() if name is not None}
    if chosen is None:
        aside = {*found.values(), *_index_columns(schema)}
        chosen = [name for name in present if name not in aside]
    listed = len(chosen) == 1 and is_list(schema.field(chosen[0]).type)
    for name in chosen:
        kind = schema.field(name).type
        if not is_number(kind.value_type if listed else kind):
            raise DataError(
                f"column {name!r} holds {kind}, not numbers; pass features=[...] to choose columns "
                f"of numbers, or one list column; the columns are {show_names(present)}"
            )
    width = _list_width(source, chosen[0]) if listed else len(chosen)
    names = ours.get("names") if listed else list(chosen)
    unnamed = ours.get("unnamed") and names == numbered(width)
    if names is None or len(names) != width or unnamed:
        return Columns(found, tuple(chosen), listed, width, None)
    return Columns(found, tuple(chosen), listed, width, tuple(names))


def numbered(width: int) -> list[str]:
    """Names for features that have none."""
    return [f"f{j}" for j in range(width)]


def show_names(names: Sequence[str], joint: str = ", ") -> str:
    """List names for an error message, the first 20 of them."""
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return (joint.join(map(repr, names[:20])) or "none") + more


def is_list(kind: Any) -> bool:
    """Whether each value of this Arrow type is a list."""
    types = arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_number(kind: Any) -> bool:
    """Whether values of this Arrow type are numbers, or all missing."""
    t = arrow().types
    return any(
        test(kind) for test in (t.is_integer, t.is_floating, t.is_boolean, t.is_decimal, t.is_null)
    )


def _guess(role: str, free: list[str], present: list[str]) -> str | None:
    usual = ROLES[role]
    fit = [name for name in free if name.lower() in usual]
    if len(fit) > 1:
        raise DataError(f"{show_names(fit)} could each be the {role}; pass {role}= to choose one")
    if not fit and role in ("label", "query"):
        raise DataError(
            f"no column is named {show_names(usual, ' or ')}; pass {role}= to name the column; "
            f"the columns are {show_names(present)}"
        )
    return fit[0] if fit else None


def _our_note(schema: Any) -> dict[str, Any]:
    """Return what `table_schema` noted about the features; nothing where the table is not ours."""
    note = _json_note(schema, b"rankloop")
    for key in ("features", "names"):
        value = note.get(key)
        listed = isinstance(value, list) and all(isinstance(name, str) for name in value)
        if value is not None and not listed:
            raise DataError(
                f"the note 'rankloop' in its metadata has {key!r} that are not names; the file is "
                "damaged, or was edited: write it anew"
            )
    return note


def _json_note(schema: Any, key: bytes) -> dict[str, Any]:
    try:
        note = json.loads((schema.metadata or {}).get(key, b"{}"))
    except (ValueError, RecursionError):
        note = None
    if not isinstance(note, dict):
        raise DataError(
            f"the note {key.decode()!r} in its metadata is not JSON as it should be; the file is "
            "damaged, or was edited: write it anew"
        )
    return note


def _index_columns(schema: Any) -> set[str]:
    """Columns that were a pandas index: row labels, not features."""
    stored = _json_note(schema, b"pandas").get("index_columns")
    stored = stored if isinstance(stored, list) else []
    unnamed = (name for name in schema.names if name.startswith("__index_level_"))
    return {*(name for name in stored if isinstance(name, str)), *unnamed}


def _list_width(source: Source, name: str) -> int:
    kind = source.schema.field(name).type
    if arrow().types.is_fixed_size_list(kind):
        return int(kind.list_size)
    first = next((b.column(name) for b in source.batches([name], 1) if b.num_rows), None)
    return 0 if first is None or first.null_count else len(first[0])
