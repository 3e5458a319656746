"""Compute the features of a log of events: a data set to train and compare rankers on."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.arguments import path_text
from rankloop._utils.names import unknown_name_error
from rankloop.data.catalogue import read_catalogue
from rankloop.data.dataset import QueryDataset
from rankloop.data.io.files import open_input
from rankloop.exceptions import DataError, ParseError
from rankloop.features.batch import fold_events
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

    Cost: about 10 microseconds for each event, and those of the features for each ranking; memory
    for the whole log.

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
    reader = EventReader(definitions, unit)
    say = notice or _ignore
    events: list[Event] = []
    if items is not None:
        events += (
            ItemEvent("items", Change(name, values), _BEFORE)
            for name, values in read_catalogue(items, definitions.fields["item"], item_id, say)
        )
    events += (event for path in paths for event in read_events(path_text(path), reader))
    events += reader.finish()
    log = fold_events(events, definitions, examination)
    if unit == "guess":
        words = {"s": "seconds", "ms": "milliseconds", "guess": "dates"}[reader.unit]
        say(f"times are {words}")
    for what, times in (reader.notes + log.notes).items():
        say(f"left out: {times:,} {what}")
    if not log.rankings:
        raise DataError(
            "the log has no ranking with items: features belong to items that were shown"
        )
    rules = as_rules(feedback)
    y = [
        grade_places(rules, ranking.items, ((e.item, e.type, e.value) for e in events))
        for ranking, events in zip(log.rankings, log.feedback, strict=True)
    ]
    data = QueryDataset.from_arrays(
        np.concatenate(log.matrices),
        np.concatenate(y),
        group=[len(ranking.items) for ranking in log.rankings],
        doc_ids=np.array([item for ranking in log.rankings for item in ranking.items], object),
        feature_names=definitions.names,
        allow_nan=True,
    )
    ids = np.array([ranking.id for ranking in log.rankings])
    return replace(data, query_ids=ids, features=named_columns(definitions, log.state))


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
    """Return the columns with the categories that their codes stand for."""
    labels = state.labels()
    columns = []
    for column in definitions.columns:
        if column.kind == "category":
            prefix = f"{column.name} = "
            names = [labels.get(name, name).removeprefix(prefix) for name in column.code_names]
            column = replace(column, categories=tuple(names), limit=0, buckets=0)
        columns.append(column)
    return Features(tuple(columns))


def read_events(name: str, reader: EventReader) -> Iterator[Event]:
    """Yield the events of a file; an error names the line."""
    with open_input(name) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                for entry in record if isinstance(record, list) else [record]:
                    if not isinstance(entry, dict):
                        raise DataError(f"found {str(entry)[:60]!r}, expected JSON objects")  # noqa: TRY301
                    if not (len(entry) == 1 and _BULK.intersection(entry)):
                        yield from reader.read(entry)
            except DataError as error:
                raise ParseError(name, number, str(error)) from None
            except ValueError as error:
                raise ParseError(name, number, f"it is not JSON: {error}") from None
            except (AttributeError, KeyError, TypeError) as error:
                raise ParseError(
                    name, number, f"an event has another form than expected: {error!r}"
                ) from None
