"""Compute the features of a log of events: a data set to train and compare rankers on."""

from __future__ import annotations

import heapq
import json
import os
import tomllib
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.arguments import path_text
from rankloop._utils.names import unknown_name_error
from rankloop.data.catalogue import read_catalogue
from rankloop.data.dataset import QueryDataset
from rankloop.data.io.files import open_input
from rankloop.exceptions import DataError, ParseError
from rankloop.features.batch import UnorderedError, fold_events
from rankloop.features.changes import Change
from rankloop.features.columns import Features
from rankloop.features.definitions import Definitions
from rankloop.features.event_log import EventReader
from rankloop.features.events import ItemEvent
from rankloop.feedback.grading import GradingRule, as_rules, grade_places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rankloop.features.event_log import Unit
    from rankloop.features.events import Event
    from rankloop.features.state import FeatureState

_BULK = {"index", "create"}
_AT_ONCE = 500  # lines
_BEFORE = -(2**52)  # milliseconds; before every event


def _ignore(_: str) -> None:
    """Tell nobody."""


def compute_features(
    *paths: str | os.PathLike[str],
    features: Mapping[str, Mapping[str, Any]],
    fields: Mapping[str, Mapping[str, str]] | None = None,
    feedback: Mapping[str, GradingRule | float] | None = None,
    examination: Sequence[float] = (),
    items: str | os.PathLike[str] | None = None,
    item_id: str | None = None,
    unit: Unit = "guess",
    notice: Callable[[str], object] | None = None,
) -> QueryDataset:
    r"""Return the rankings of a log with the features that their items had at that moment.

    It is the code of the live service, folded over the log: a feature sees earlier events only, by
    time and then by line. Each ranking is a query; grades come from all its feedback, however late.

    Parameters
    ----------
    paths : JSON lines (or arrays) of events, compressed or not: those of Metarank's clients
        (`item`, `user`, `ranking`, `interaction`), UBI's queries and events, or our own
    features, fields : definitions, as in the settings of a loop
    feedback : the grade of each type of feedback; by default, click 1, cart 2, purchase 3
    examination : how likely each place is to be seen, for rates of `examination`
    items : a catalogue that was known before the log: Parquet, CSV or JSON lines, with a column of
        ids and one for each field
    item_id : the column of the ids; by default, `id`, `item_id`, `product_id` and such
    unit : of times that are numbers: `s`, `ms`, or `guess`, by the size of the first one
    notice : called with a line about what was left out, or guessed

    Cost: about 6 microseconds for each event, and for each ranking that of its features. The log is
    read as a stream if the events of each file are in order of time; otherwise all of it is sorted
    in memory.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> log = [
    ...     {"ranking_id": "r1", "items": ["a", "b"], "timestamp": 1000},
    ...     {"ranking_id": "r1", "item": "b", "timestamp": 1001},
    ...     {"ranking_id": "r2", "items": ["a", "b"], "timestamp": 1002},
    ... ]
    >>> _ = path.write_text("\n".join(map(json.dumps, log)))
    >>> data = compute_features(path, features={"ctr": {"rate": "click", "prior": 1}})
    >>> data.y.tolist(), data.X.ravel().tolist()  # before the first event, there is no rate
    ([0.0, 1.0, 0.0, 0.0], [nan, nan, 0.25, 0.75])
    """
    definitions = Definitions.read({} if fields is None else fields, features)
    if not paths:
        raise DataError("give at least one file of events")
    say = notice or _ignore
    catalogue: list[Event] = []
    if items is not None:
        catalogue += (
            ItemEvent("items", Change(name, values), _BEFORE)
            for name, values in read_catalogue(items, definitions.fields["item"], item_id, say)
        )
    names = [path_text(path) for path in paths]
    reader = EventReader(definitions, unit)
    try:
        log = fold_events(chain(catalogue, _merge(names, reader)), definitions, examination)
    except UnorderedError:
        reader = EventReader(definitions, unit)
        logged = [event for name in names for event in read_events(name, reader)]
        logged += reader.finish()
        logged.sort(key=_time)
        log = fold_events(chain(catalogue, logged), definitions, examination)
    if unit == "guess":
        words = {"s": "seconds", "ms": "milliseconds", "guess": "dates"}[reader.unit]
        say(f"times are {words}")
    for what, times in (reader.notes + log.notes).items():
        say(f"left out: {times:,} {what}")
    if not log.ids:
        raise DataError(
            "the log has no ranking with items: features belong to items that were shown"
        )
    rules = as_rules(feedback)
    y = [
        grade_places(rules, shown, events)
        for shown, events in zip(log.items, log.feedback, strict=True)
    ]
    data = QueryDataset.from_arrays(
        np.concatenate(log.matrices),
        np.concatenate(y),
        group=list(map(len, log.items)),
        doc_ids=np.array([item for shown in log.items for item in shown], object),
        feature_names=definitions.names,
        allow_nan=True,
    )
    columns = named_columns(definitions, log.state)
    return replace(data, query_ids=np.array(log.ids), features=columns, feature_names=columns.names)


def _merge(names: Sequence[str], reader: EventReader) -> Iterator[Event]:
    """Yield the events of files that are each in order of time; raise if one is not."""
    if any(name == "-" for name in names):  # it can be read only once, so all of it is sorted
        logged = [event for name in names for event in read_events(name, reader)]
        logged += reader.finish()
        yield from sorted(logged, key=_time)
        return
    files = [read_events(name, reader) for name in names]
    yield from files[0] if len(files) == 1 else heapq.merge(*files, key=_time)
    yield from reader.finish()


def _time(event: Event) -> int:
    return event.at


def read_definitions(path: str | os.PathLike[str], loop: str | None = None) -> dict[str, Any]:
    """Return what :func:`compute_features` needs of a loop's settings, by name.

    loop : the name of the loop, if the settings have several
    """
    name = os.fspath(path)
    try:
        loops = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("loops", {})
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError(name, None, f"cannot read it: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ParseError(name, None, f"it is not TOML: {error}") from None
    if loop is None and len(loops) != 1:
        raise DataError(f"{name}: name one of the loops {', '.join(loops) or '(there are none)'}")
    if loop is not None and loop not in loops:
        raise DataError(f"{name}: {unknown_name_error('loop', loop, loops)}")
    settings = loops[loop or next(iter(loops))]
    features = settings.get("features")
    if not isinstance(features, dict):
        raise DataError(
            f"{name}: the loop has no definitions of features; write them under "
            "[loops.NAME.features], as docs/features.md shows"
        )
    rules = settings.get("feedback")
    return {
        "features": features,
        "fields": settings.get("fields", {}),
        "feedback": None if rules is None else {k: _rule(name, k, v) for k, v in rules.items()},
        "examination": settings.get("examination", ()),
    }


def _rule(path: str, kind: str, rule: object) -> GradingRule | float:
    if not isinstance(rule, dict):
        return rule  # type: ignore[return-value] # as_rules checks it
    try:
        steps = tuple(map(float, rule.get("steps", ())))
        return GradingRule(**{**rule, "steps": steps})
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: feedback.{kind}: {error}") from None


def named_columns(definitions: Definitions, state: FeatureState) -> Features:
    """Return the columns with the categories that their codes stand for.

    A column of a list of categories is named after its category, so that a model that is trained
    on it can be served by a loop that met the categories in another order.
    """
    labels = state.labels()
    columns = []
    for column in definitions.columns:
        if column.kind == "category":
            prefix = f"{column.name} = "
            names = [labels.get(name, name).removeprefix(prefix) for name in column.code_names]
            column = replace(column, categories=tuple(names), limit=0, buckets=0)
        elif column.name in labels:
            column = replace(column, name=labels[column.name])
        columns.append(column)
    return Features(tuple(columns))


def read_events(name: str, reader: EventReader) -> Iterator[Event]:
    """Yield the events of a file; an error names the line."""
    with open_input(name) as file:
        numbered = enumerate(file, start=1)
        while lines := list(islice(numbered, _AT_ONCE)):
            for number, record in _decode(name, lines):
                try:
                    for entry in record if isinstance(record, list) else (record,):
                        if not isinstance(entry, dict):
                            shown = str(entry)[:60]
                            raise DataError(f"found {shown!r}, expected JSON objects")  # noqa: TRY301
                        if len(entry) != 1 or not _BULK.intersection(entry):
                            yield from reader.read(entry)
                except DataError as error:
                    raise ParseError(name, number, str(error)) from None
                except (AttributeError, KeyError, TypeError, ValueError) as error:
                    raise ParseError(
                        name, number, f"an event has another form than expected: {error!r}"
                    ) from None


def _decode(name: str, lines: list[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    """Yield the JSON value of each line that has one, with its number."""
    filled = [(number, line) for number, line in lines if line.strip()]
    numbers = [number for number, _ in filled]
    try:  # together, which takes half the time
        records = json.loads(b"[%b]" % b",".join(line for _, line in filled))
    except (ValueError, RecursionError):
        records = []
    if len(records) == len(filled):
        yield from zip(numbers, records, strict=True)
        return
    for number, line in filled:
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ParseError(name, number, f"it is not JSON: {error}") from None
