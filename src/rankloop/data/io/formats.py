"""All formats in one place: read files and write them; their names are in `format_names`."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop._utils.argument_names import argument
from rankloop.data.dataset import QueryDataset
from rankloop.data.io.files import COMPRESSED_SUFFIXES
from rankloop.data.io.format_names import TABLES, PathLike, check_format, decide_format, format_for
from rankloop.data.io.letor import iter_letor, read_letor, write_letor
from rankloop.data.io.letor_rows import LetorOptions
from rankloop.data.io.locations import data_files, local_copies
from rankloop.data.io.mapped import read_mapped
from rankloop.data.io.mapped_write import write_mapped
from rankloop.data.joining import concat, join_within
from rankloop.data.mapped_parts import borrow, in_parts, is_mapped
from rankloop.data.memory import memory_limit_or_default
from rankloop.exceptions import DataError, DataTypeError, ParseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rankloop.features.columns import Features

_LETOR = {*(field.name for field in fields(LetorOptions)), "query_file"}
_BOTH = {"skip_bad_rows"}


def read(
    *paths: PathLike,
    format: str | None = None,
    memory_limit: int | str | None = None,
    like: Features | Sequence[str] | None = None,
    width: int | None = None,
    usual_query: str | None = None,
    allow_empty: bool = False,
    **options: object,
) -> QueryDataset:
    """Read files or folders of any known format into one data set.

    Missing values of tables are NaN. All tables among the files must have the same columns.

    Parameters
    ----------
    paths : see :func:`rankloop.data.io.locations.data_files`; also `s3://...` and other locations
        that fsspec knows, and `duckdb:FILE?SELECT ...` or `postgresql://...?SELECT ...`
    format : one of `FORMATS`; by default it is detected for each file
    memory_limit : the memory for reading all of them, as in :func:`read_letor`
    like, width : the features of the model that will use the data, as a description or as names,
        and their number: tables are read with these columns, text with this number of features
    usual_query : the name of the column of query ids in the data of that model; a table that has it
        is read with it, unless `query` names another
    allow_empty : whether files without rows are no error, as Spark and others write them
    options : options of text files (:class:`rankloop.data.io.letor_rows.LetorOptions`) or of
        tables (:class:`rankloop.data.io.tables.roles.TableOptions`); an option that applies to
        none of the files is an error
    """
    if not paths:
        raise DataError("name at least one file or folder to read")
    places = [file for path in paths for file in data_files(path)]
    for_text, for_tables = _divide_options(options)
    with local_copies(places) as files:
        formats = [decide_format(file, format) for file in files]
        check_options(options, formats)
        left = memory_limit_or_default(memory_limit)
        parts: list[QueryDataset] = []
        for group in _read_together(formats):
            given = {**_for_model(like, width, usual_query), **for_text, **for_tables}
            in_group = [files[i] for i in group], [formats[i] for i in group]
            parts.append(_read_group(*in_group, max(left, 1), given))
            in_place = len(files) == 1 and is_mapped(parts[-1])
            left -= 0 if in_place else parts[-1].nbytes
    data = join_within(parts, left)
    if not data.n_documents and not allow_empty:
        raise ParseError(os.fspath(places[0]), None, "it has no rows; there is nothing to learn")
    return data


def _read_together(formats: list[str]) -> list[list[int]]:
    """Group the positions of files: all tables are one group, and each other file is its own.

    Tables are read together, so that they number the categories of a column in the same way.
    """
    tables = [i for i, name in enumerate(formats) if name in TABLES]
    groups = [[i] for i, name in enumerate(formats) if name not in TABLES or i == tables[0]]
    return [tables if group[0] in tables else group for group in groups]


def _for_model(
    like: Features | Sequence[str] | None, width: int | None, usual_query: str | None
) -> dict[str, object]:
    options = {"features": like or None, "n_features": width, "usual_query": usual_query}
    return {name: value for name, value in options.items() if value is not None}


def _read_group(
    files: list[str],
    formats: list[str],
    memory_limit: int | str | None,
    options: dict[str, object],
) -> QueryDataset:
    for_text, for_tables = _divide_options(options)
    if formats[0] == "letor":
        return read_letor(*files, memory_limit=memory_limit, **for_text)
    if formats[0] == "qrels":
        from rankloop.data.io.trec import read_qrels
        from rankloop.data.io.trec_join import dataset_from_qrels

        return dataset_from_qrels(read_qrels(files[0]))
    if formats[0] == "rlds":
        return read_mapped(files[0])
    from rankloop.data.io.tables.reading import read_table

    return read_table(
        *files, allow_nan=True, memory_limit=memory_limit, format=formats, **for_tables
    )


def _divide_options(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide options into those of text and those of tables."""
    for_text = {name: value for name, value in options.items() if name in _LETOR}
    only_text = _LETOR - _BOTH
    return for_text, {name: value for name, value in options.items() if name not in only_text}


def check_options(options: dict[str, object], formats: list[str]) -> None:
    """Raise if an option applies to none of the formats."""
    for_text, for_tables = _divide_options(options)
    for_tables.pop("format", None)
    if "letor" in formats or any(name in TABLES for name in formats):
        for_text, for_tables = (
            {name: value for name, value in given.items() if name not in _BOTH}
            for given in (for_text, for_tables)
        )
    fits = {"text": "letor" in formats, "tables": any(name in TABLES for name in formats)}
    for kind, given in (("text", for_text), ("tables", for_tables)):
        named = [name for name, value in given.items() if _says_something(name, value)]
        if named and not fits[kind]:
            other = "LETOR text" if kind == "text" else "tables with named columns"
            raise DataError(
                f"{argument(named[0])} is for {other}, but the data is "
                f"{', '.join(dict.fromkeys(formats))}; leave it out"
            )


def _says_something(name: str, value: object) -> bool:
    default = {field.name: field.default for field in fields(LetorOptions)}.get(name)
    silent = name in ("labelled", "notice") or value is False
    return not silent and value not in (None, (), [], default)


def read_batches(
    path: PathLike,
    *,
    format: str | None = None,
    progress: Callable[[float], None] | None = None,
    **options: object,
) -> Iterator[QueryDataset]:
    """Read a file of any size in batches of whole queries, in bounded memory.

    In text, consecutive rows with the same id are a query, and an id that occurs again later is
    another query; in tables, a query that starts again is an error. Judgements (qrels) are one
    batch. `progress` is called before each batch with the share of the file read so far. CSV, JSON
    lines and queries of databases are held in memory as a table.
    """
    for_text, for_tables = _divide_options(options)
    with local_copies([os.fspath(path)]) as (file,):
        decided = decide_format(file, format)
        check_options(options, [decided])
        if decided == "letor":
            yield from iter_letor(file, progress=progress, **for_text)
        elif decided == "qrels":
            yield _read_group([file], [decided], None, {})
        elif decided == "rlds":
            for part in in_parts(read_mapped(file)):
                with borrow(part):
                    yield part
        else:
            from rankloop.data.io.tables.reading import iter_table

            batches = iter_table(
                file, progress=progress, allow_nan=True, format=decided, **for_tables
            )
            first = next(batches, None)
            if first is None:
                raise ParseError(os.fspath(path), None, "it has no rows")
            yield first
            del first  # what is handed over is not kept here
            yield from batches


def write(data: QueryDataset, path: PathLike, *, format: str | None = None, **options: Any) -> None:
    """Write a data set to one file; its suffix, or `format`, determines the format.

    :func:`read` reads it again. An error leaves an old file unchanged.

    Parameters
    ----------
    format : one of `FORMATS` except JSON lines
    options : options of the writer: `sparse` and `zero_based` for text, `layout` for tables
    """
    if not isinstance(data, QueryDataset):
        raise DataTypeError(
            f"write takes a QueryDataset; found {type(data).__name__}: rankloop.from_table makes "
            "one of a frame"
        )
    write_batches([data], path, format=format, **options)


def write_batches(
    batches: Iterable[QueryDataset],
    path: PathLike,
    *,
    format: str | None = None,
    **options: Any,
) -> None:
    """Write data sets, one after the other, to one file; an error leaves an old file unchanged.

    Parameters
    ----------
    format : one of `FORMATS` except JSON lines; by default the suffix determines it
    options : options of the writer: `sparse` and `zero_based` for text, `layout` for tables
    """
    check_format(format)
    known = format or format_for(path)
    if known == "letor":
        write_letor(batches, path, **options)
    elif known == "jsonl":
        raise DataError("JSON lines are read, but not written; write CSV or Parquet")
    elif known == "qrels":
        from rankloop.data.io.trec import write_qrels
        from rankloop.data.io.trec_join import qrels_from_dataset

        write_qrels(qrels_from_dataset(concat(list(batches))), path)
    else:
        stored = os.fspath(path) == "-" or Path(path).suffix in COMPRESSED_SUFFIXES
        if stored and known in ("parquet", "arrow", "rlds"):
            raise DataError(
                f"cannot write a table to {os.fspath(path)!r}: {known} needs a file, and "
                + ("is never compressed" if known == "rlds" else "compresses its content itself")
                + f"; name it for example 'data.{known}'"
            )
        if known == "rlds":
            write_mapped(batches, path)
            return
        from rankloop.data.io.tables.writing import write_table

        write_table(batches, path, format=known, **options)
