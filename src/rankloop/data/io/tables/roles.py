"""The roles of a table's columns: as the caller says, as our own files note, or by their names."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rankloop._utils.argument_names import argument
from rankloop._utils.messages import count, show_names
from rankloop.data.io.tables.leaks import refuse_leaks
from rankloop.data.io.tables.lists import list_of
from rankloop.data.io.tables.sources import COLUMNS_AT_ONCE, arrow
from rankloop.data.io.tables.values import Coder, is_list, is_number, kind_of
from rankloop.exceptions import DataError
from rankloop.features.column import Feature
from rankloop.features.columns import Features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow

    from rankloop.data.io.tables.sources import TableSource
    from rankloop.features.column import Kind

ROLES = {
    "label": ("label", "y", "relevance", "grade", "target"),
    "query": ("qid", "query_id", "query", "group", "search_id", "srch_id"),
    "doc_id": ("doc_id", "docid", "document_id", "product_id", "item_id"),
    "doc_weight": ("doc_weight",),
    "query_weight": ("query_weight",),
}
"""What a column can be besides a feature, with its usual names; we write the first of them."""


@dataclass(frozen=True)
class TableOptions:
    """The roles of a table's columns. A role that is None is found by its usual name.

    Parameters
    ----------
    label : the column of grades
    query : the column of query ids
    usual_query : the column of query ids if `query` is None and the table has it, such as that of
        the data which a model was trained with
    doc_id : the column of document ids
    features : the columns of features, the name of one list column, or the description that a
        model was trained with; None means all columns without another role
    drop : columns to ignore
    include : columns to use as features although their names look like facts that a model must not
        learn from, such as `position` or `clicked` (:mod:`rankloop.data.io.tables.leaks`); without
        this, they are an error. Columns that `features` names are never asked about.
    category : columns that hold categories, though they are numbers, or differ in most rows
    lists : columns of text that hold several categories, each with its separator, as `genres=|`;
        Arrow's lists of text need no separator
    position : the column of the position at which a document was shown; it is never a feature
    doc_weight, query_weight : columns of weights
    missing : more texts that stand for a missing value, besides the usual ones such as NA and ?
    decimal : what separates the fraction of a number that is written as text: `.` or `,`
    thousands : what separates thousands in such numbers, as in 1,234,567; None if nothing does
    encoding : the encoding of CSV and TSV, such as `latin-1`
    skip_bad_rows : leave out rows of CSV, TSV or JSON lines with too many or too few fields, or
        whose ids, grades or weights cannot be used, with a BadRowsWarning that counts them
    labelled : whether there must be grades; if not, a table without them has -1, unjudged
    notice : called with the role that was found for each column
    """

    label: str | None = None
    query: str | None = None
    doc_id: str | None = None
    features: str | Sequence[str] | Features | None = None
    drop: Sequence[str] = ()
    include: Sequence[str] = ()
    category: Sequence[str] = ()
    lists: Sequence[str] = ()
    position: str | None = None
    doc_weight: str | None = None
    query_weight: str | None = None
    missing: Sequence[str] = ()
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    skip_bad_rows: bool = False
    labelled: bool = True
    notice: Callable[[Columns], None] | None = None
    usual_query: str | None = None

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns that are given, by role."""
        return {role: getattr(self, role) for role in ROLES}

    def __post_init__(self) -> None:
        if isinstance(self.missing, str):
            object.__setattr__(self, "missing", (self.missing,))
        if self.decimal not in (".", ",") or self.thousands == self.decimal:
            raise DataError(
                "decimal must be '.' or ',', and thousands something else; found "
                f"{argument('decimal', self.decimal)}, {argument('thousands', self.thousands)}"
            )

    def id_columns(self, present: Sequence[str]) -> set[str]:
        """Return the columns of ids among those of a table, given or by their usual names."""
        given = {name for name in (self.query, self.doc_id) if name is not None}
        usual = {*ROLES["query"], *ROLES["doc_id"]}
        return given | {name for name in present if name.lower() in usual}

    @property
    def description(self) -> Features | None:
        """The description that a model was trained with, if that is what was given."""
        return self.features if isinstance(self.features, Features) else None

    @property
    def chosen(self) -> list[str] | None:
        """The names of the columns of features that are given."""
        if self.features is None:
            return None
        if isinstance(self.features, Features):
            return list(self.features.names)
        return [self.features] if isinstance(self.features, str) else list(self.features)


@dataclass(frozen=True)
class Columns:
    """The role of each column."""

    roles: dict[str, str]  # those of ROLES that the table has
    features: tuple[str, ...]
    listed: bool  # features are one list column
    width: int
    names: tuple[str, ...] | None
    kinds: tuple[Kind, ...] = ()  # one per column, none for a list
    coders: Mapping[str, Coder] = field(default_factory=dict)  # of columns that hold categories

    lists: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # of parts: see `list_of`
    guessed: frozenset[str] = frozenset()  # roles that were found by name alone

    def __str__(self) -> str:
        roles = (
            f"{role.replace('_', ' ')} {name!r}{' (by its name)' if role in self.guessed else ''}"
            for role, name in self.roles.items()
        )
        kinds = Counter(kind for kind in self.kinds if kind != "number")
        many = {"boolean": "booleans", "date": "dates", "category": "categories"}
        of_them = ", ".join(count(n, kind, many[kind]) for kind, n in sorted(kinds.items()))
        more = f" ({of_them})" if of_them else ""
        return f"columns: {', '.join(roles)}; {count(self.width, 'feature', 'features')}{more}"

    @property
    def rows_at_once(self) -> int:
        """Number of rows to read at a time: some MB of features."""
        return max(256, min(2**16, 2**21 // max(self.width, 1)))

    def parts(self) -> Iterator[tuple[slice, Columns]]:
        """Yield the features, some columns at a time, with their position in the matrix."""
        step = self.width if self.listed else COLUMNS_AT_ONCE
        for first in range(0, self.width, max(step, 1)):
            part = slice(first, min(first + step, self.width))
            names = self.names and self.names[part]
            features = self.features if self.listed else self.features[part]
            width = part.stop - part.start
            kinds = self.kinds[part]
            yield (
                part,
                Columns(
                    self.roles, features, self.listed, width, names, kinds, self.coders, self.lists
                ),
            )

    def describe(self) -> Features | None:
        """Return the description of the columns after all were read; None if all are numbers."""
        if all(kind == "number" for kind in self.kinds):
            return None
        return Features(
            tuple(
                Feature(name, kind, **self._category(name) if kind == "category" else {})
                for name, kind in zip(self.features, self.kinds, strict=True)
            )
        )

    def _category(self, name: str) -> dict[str, Any]:
        part_of, separator = self.lists.get(name, ("", ""))
        codes = self.coders[name].codes
        return {**codes, "part_of": part_of, "separator": separator}


def resolve(source: TableSource, options: TableOptions) -> Columns:
    """Find the role of each column; an error lists the columns."""
    schema, given = source.schema, options.roles
    present: list[str] = schema.names
    twice = [name for name, times in Counter(present).items() if times > 1]
    if twice:
        raise DataError(f"two columns are named {twice[0]!r}; rename one")
    ours, chosen = _our_note(schema), options.chosen
    named = [name for name in given.values() if name is not None]
    said = (*(chosen or ()), *options.drop, *options.include, *options.category)
    _check_present([*named, *said], present)
    aside = {*options.drop, *([options.position] if options.position else ())}
    for name, times in Counter([*named, *(chosen or ()), *aside]).items():
        if times > 1:
            raise DataError(f"column {name!r} is given twice; give each column one use")
    taken = {*named, *(chosen or ()), *aside, *ours.get("features", ())}
    free = [name for name in present if name not in taken]
    if options.query is None and options.usual_query in free:
        given = {**given, "query": options.usual_query}
        free.remove(options.usual_query)
    needed = ("label", "query") if options.labelled else ("query",)
    guessed = {role: name or _guess(role, free, present, needed) for role, name in given.items()}
    roles = {role: name for role, name in guessed.items() if name is not None}
    if chosen is None:
        aside |= {*roles.values(), *_index_columns(schema)}
        chosen = [name for name in present if name not in aside]
        if options.labelled and not ours:  # to learn from, and not answered yet
            refuse_leaks(name for name in chosen if name not in options.include)
    columns = _describe_columns(source, options, roles, chosen)
    if not ours:
        by_name = frozenset(role for role in roles if given[role] is None)
        columns = replace(columns, guessed=by_name)
    if options.notice is not None:
        options.notice(columns)
    return columns


def feature_columns(source: TableSource, options: TableOptions) -> Columns:
    """Use all columns of a table, or the chosen ones, as features."""
    index = _index_columns(source.schema)
    names = [name for name in source.schema.names if name not in index]
    _check_present(options.chosen or (), names)
    return _describe_columns(source, options, {}, options.chosen or names)


def _describe_columns(
    source: TableSource, options: TableOptions, roles: dict[str, str], chosen: list[str]
) -> Columns:
    schema, ours = source.schema, _our_note(source.schema)
    listed = len(chosen) == 1 and is_list(schema.field(chosen[0]).type)
    if listed and not is_number(schema.field(chosen[0]).type.value_type):
        raise DataError(f"column {chosen[0]!r} holds {schema.field(chosen[0]).type}, not numbers")
    kinds = () if listed else _kinds(schema, chosen, options)
    width = _list_width(source, chosen[0]) if listed else len(chosen)
    names = ours.get("names") if listed else list(chosen)
    unnamed = ours.get("unnamed") and names == number_names(width)
    if names is None or len(names) != width or unnamed:
        names = None
    known = options.description
    lists = {name: list_of(schema.field(name)) for name in chosen}
    coders: dict[str, Coder] = {}
    for j, (name, kind) in enumerate(zip(chosen, kinds, strict=not listed)):
        if kind == "category":
            first = next((n for n in coders if lists[n][0] and lists[n] == lists[name]), None)
            model = None if known is None else known.columns[j]
            named = name in options.category or bool(lists[name][0])
            coders[name] = Coder(model, named) if first is None else coders[first]
    shown = None if names is None else tuple(names)
    return Columns(roles, tuple(chosen), listed, width, shown, kinds, coders, lists)


def _check_present(named: Sequence[str], present: list[str]) -> None:
    absent = [name for name in dict.fromkeys(named) if name not in present]
    if absent:
        close = get_close_matches(absent[0], present, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        there_is_no = "there is no column" if len(absent) == 1 else "there are no columns"
        raise DataError(
            f"{there_is_no} {show_names(absent)}; the columns are {show_names(present)}{hint}"
        )


def _kinds(schema: pyarrow.Schema, chosen: list[str], options: TableOptions) -> tuple[Kind, ...]:
    """Return the kind of each feature column; one error names all that cannot be used."""
    if options.description is not None:
        return tuple(column.kind for column in options.description)
    kinds = [
        "category" if name in options.category else kind_of(schema.field(name).type)
        for name in chosen
    ]
    bad = [name for name, kind in zip(chosen, kinds, strict=True) if kind is None]
    if bad:
        shown = ", ".join(f"{name!r} ({schema.field(name).type})" for name in bad[:20])
        lists = " (a list of numbers must be the only feature)" if len(chosen) > 1 else ""
        raise DataError(
            f"{len(bad)} of {len(chosen)} columns cannot be used as features{lists}: {shown}; "
            f"leave them out with {argument('drop')}, or name the others with "
            f"{argument('features')}: columns of numbers, booleans, dates, text or lists of text"
        )
    return tuple(kind for kind in kinds if kind is not None)


def number_names(width: int) -> list[str]:
    """Return names for features that have none."""
    return [f"f{j}" for j in range(width)]


def _guess(role: str, free: list[str], present: list[str], needed: Sequence[str]) -> str | None:
    usual = ROLES[role]
    fit = [name for name in free if name.lower() in usual]
    if len(fit) > 1:
        raise DataError(
            f"{show_names(fit)} could each be the {role}; pass {argument(role)} to choose one, or "
            f"{argument('drop')} to leave the others out"
        )
    if not fit and role in needed:
        raise DataError(
            f"no column is named {show_names(usual, ' or ')}; pass {argument(role)} to name the "
            "column; "
            f"the columns are {show_names(present)}"
        )
    return fit[0] if fit else None


def _our_note(schema: pyarrow.Schema) -> dict[str, Any]:
    """Return the note of `table_schema` about the features; nothing if the table has none."""
    note = _json_note(schema, b"rankloop")
    for key in ("features", "names"):
        value = note.get(key)
        listed = isinstance(value, list) and all(isinstance(name, str) for name in value)
        if value is not None and not listed:
            raise DataError(
                f"the note 'rankloop' in its metadata has {key!r} that are not names; the "
                "file is damaged, or was edited: write it again"
            )
    return note


def _json_note(schema: pyarrow.Schema, key: bytes) -> dict[str, Any]:
    try:
        note = json.loads((schema.metadata or {}).get(key, b"{}"))
    except (ValueError, RecursionError):
        note = None
    if not isinstance(note, dict):
        raise DataError(
            f"the note {key.decode()!r} in its metadata is not a JSON object; the "
            "file is damaged, or was edited: write it again"
        )
    return note


def _index_columns(schema: pyarrow.Schema) -> set[str]:
    """Columns that were a pandas index: row labels, not features."""
    stored = _json_note(schema, b"pandas").get("index_columns")
    stored = stored if isinstance(stored, list) else []
    unnamed = (name for name in schema.names if name.startswith("__index_level_"))
    return {*(name for name in stored if isinstance(name, str)), *unnamed}


def _list_width(source: TableSource, name: str) -> int:
    kind = source.schema.field(name).type
    if arrow().types.is_fixed_size_list(kind):
        return int(kind.list_size)
    first = next((b.column(name) for b in source.batches([name], 1) if b.num_rows), None)
    return 0 if first is None or first.null_count else len(first[0])
