"""First definitions of features for somebody who has a catalogue and a log, to be edited."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.toml_text import toml_key, toml_value
from rankloop.data.catalogue import read_catalogue
from rankloop.exceptions import DataError
from rankloop.features.event_log import EventReader
from rankloop.features.field_texts import find_fault
from rankloop.feedback.compute_features import compute_features
from rankloop.feedback.event_files import read_events
from rankloop.feedback.grading import DEFAULT_RULES, GradingRule
from rankloop.feedback.survey import COUNTED, Survey
from rankloop.measures.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

    Options = dict[str, Any]

_SHOWN = ("impression", "examination")
_WIDE = 64  # numbers of a vector that are columns of their own
_MOST_CATEGORIES = 1000
_CROSSED = 3  # categories of each side that are crossed
_PRIOR = 5  # rows that the usual grade weighs beside those of a category
_FEW = 10  # different values, each of which may be a step of a grade


@dataclass(frozen=True)
class FirstDefinitions:
    """What was found, and what to begin with.

    fields, features, feedback : as in the settings of a loop
    remarks : about a field (`item.price`) or a feature
    notes : about all of it
    """

    fields: dict[str, dict[str, str]]
    features: dict[str, Options]
    feedback: dict[str, object]
    remarks: dict[str, str]
    notes: list[str]

    def to_toml(self, loop: str) -> str:
        """Return the settings of a loop, with comments."""
        lines = [f"# {note}" for note in self.notes]
        name = toml_key(loop)
        lines += [
            "",
            f"[loops.{name}]",
            f"# journal = {toml_value(f'{loop}.journal')}  # where the loop keeps everything",
            "# window = 1800.0  # seconds to wait for feedback before learning from a ranking",
        ]
        for side, fields in self.fields.items():
            lines += ["", f"[loops.{name}.fields.{side}]"] if fields else []
            lines += [
                _line(field, kind, self.remarks.get(f"{side}.{field}"))
                for field, kind in fields.items()
            ]
        lines += ["", f"[loops.{name}.features]"]
        for feature, options in self.features.items():
            lines.append(_line(feature, options, self.remarks.get(feature)))
        if self.feedback:
            lines += ["", f"[loops.{name}.feedback]"]
            lines += [_line(kind, rule, None) for kind, rule in self.feedback.items()]
        return "\n".join(lines).lstrip("\n") + "\n"


def propose_definitions(
    items: str | os.PathLike[str] | None,
    events: Sequence[str | os.PathLike[str]] = (),
    item_id: str | None = None,
) -> FirstDefinitions:
    """Look at a catalogue and a log, and return fields, features, and what each is worth alone.

    The worth of a feature is the mean nDCG@10 of the log's rankings, if they are sorted by it:
    computed at the moment of each ranking, from earlier events only.

    Parameters
    ----------
    items : Parquet, CSV or JSON lines, with a column of ids
    events : JSON lines of rankings and interactions, as :func:`compute_features` takes them
    item_id : the column of ids; found by its name by default
    """
    survey = Survey()
    if items is not None:
        for _, values in read_catalogue(items, None, item_id):
            survey.add_row("item", values)
    reader = EventReader(None)
    for path in events:
        survey.add_events(read_events(os.fspath(path), reader))
    survey.add_events(reader.finish())
    if not survey.fields["item"] and not survey.events and not survey.given:
        raise DataError("found neither fields of items nor events; give a catalogue, a log or both")
    first = _define(survey)
    if not (events and survey.rows["request"] and survey.events):
        first.notes.append("No log of rankings and clicks: what features are worth is unknown.")
        return first
    data = compute_features(
        *events,
        features=first.features,
        fields=first.fields,
        feedback={kind: _rule(rule) for kind, rule in first.feedback.items()},
        items=items,
        item_id=item_id,
    )
    _add_worth(first, data)
    return first


def _define(survey: Survey) -> FirstDefinitions:
    fields = {side: survey.types(side) for side in survey.fields}
    if survey.queries:
        fields["request"]["query"] = "text"
    remarks = {}
    for side, known in fields.items():
        for name in known:
            if name in survey.fields[side]:
                remarks[f"{side}.{name}"] = _describe(survey, side, name, known[name])
    left = [
        f"{side}.{name}"
        for side, known in survey.fields.items()
        for name in known
        if name not in fields[side]
    ]
    features = {
        **_features_of_fields(survey, fields),
        **_counters(survey, fields["item"]),
        **_crosses(survey, fields),
    }
    features.update({name: {"given": "number"} for name in survey.given if name not in features})
    notes = [
        f"Written by `rankloop init` from {survey.rows['item']:,} items, "
        f"{survey.rows['request']:,} rankings and {survey.events.total():,} events.",
        "Types of fields are guesses, and features are a beginning: change what you know better.",
    ]
    if left:
        notes.append(f"No type fits the values of {', '.join(left)}.")
    for side, known in fields.items():
        for name, kind in known.items():
            found = survey.fields[side].get(name)
            fault = find_fault(found.values) if found and kind == "category" else None
            if fault is not None:
                notes.append(f"{side}.{name} is a category here; {fault}: correct the file.")
    return FirstDefinitions(fields, features, _feedback(survey), remarks, notes)


def _describe(survey: Survey, side: str, name: str, kind: str) -> str:
    found = survey.fields[side][name]
    n = len(found.different)
    count = f"{n:,}{' or more' * (n >= COUNTED)} value{'s' * (n != 1)}"
    words = [f"{count}, such as {_shorten(found.values[0])}"]
    if side == "item" and kind == "category" and found.are_ids:
        words.append("no feature, because nearly every item has another one")
    missing = survey.missing(side, name)
    return ", ".join([*words, *([f"{100 * missing:.0f}% missing"] if missing > 0.005 else [])])


def _features_of_fields(survey: Survey, fields: dict[str, dict[str, str]]) -> dict[str, Options]:
    """Return what follows from fields without events."""
    features: dict[str, Options] = {}
    for name, kind in fields["item"].items():
        ref = f"item.{name}"
        size = len(survey.fields["item"][name].different)
        if kind == "category" and survey.fields["item"][name].are_ids:
            continue
        if kind in ("number", "boolean"):
            features[name] = {kind: ref}
        elif kind == "category":
            features[name] = {kind: ref, "limit": _limit(size, _MOST_CATEGORIES)}
        elif kind == "categories":
            features[name] = {kind: ref, "limit": _limit(size, 128)}
        elif kind == "date":
            features[f"{name}_age"] = {"age": ref}
        elif kind == "text":
            features[f"{name}_words"] = {"words": ref}
            if "query" in fields["request"]:
                features[f"{name}_match"] = {"match": ["request.query", ref], "by": "bm25"}
        elif kind.startswith("vector") and int(kind[7:-1]) <= _WIDE:
            features[name] = {"vector": ref}
        for asked, other in fields["request"].items():
            if kind.startswith("vector") and kind == other:
                features[f"{name}_like_{asked}"] = {"cosine": [f"request.{asked}", ref]}
    return features


def _limit(size: int, most: int) -> int:
    """Return a number of codes with room for categories that are not known yet."""
    room = 2 * max(size, 4)
    return min(1 << (room - 1).bit_length(), most)


def _counters(survey: Survey, items: Mapping[str, str]) -> dict[str, Options]:
    """Return what follows from events, by item, query, category and person."""
    features: dict[str, Options] = {}
    groups = [
        name
        for name, kind in items.items()
        if kind in ("category", "categories")
        and len(survey.fields["item"][name].different) > 1
        and not survey.fields["item"][name].are_ids
    ]
    shown = survey.rows["request"] > 0
    who = "user" if survey.users else "session" if survey.sessions else None
    for event, n in survey.events.most_common(4):
        if event in _SHOWN:
            continue
        if _has_amounts(survey, event):
            features[f"{event}_mean"] = {"mean": event, "prior": 5}
            if who is not None:
                for group in groups[:3]:
                    features[f"{event}_taste_{group}"] = {
                        "affinity": f"item.{group}",
                        "to": event,
                        "by": "mean",
                        "per": who,
                    }
            for group in groups[:5]:
                features[f"{event}_mean_{group}"] = {
                    "mean": event,
                    "per": f"item.{group}",
                    "prior": 20,
                }
        features[f"{event}_count"] = {"count": event, "half_life": "30d"}
        if not shown or _has_amounts(survey, event):
            continue
        rate = {"rate": event, "half_life": "30d", "prior": 10}
        features[f"{event}_rate"] = rate
        if survey.queries:
            features[f"{event}_rate_query"] = {**rate, "per": ["request.query", "item"]}
        for group in groups[:5]:
            features[f"{event}_rate_{group}"] = {**rate, "per": f"item.{group}", "prior": 20}
        if who is not None and n == max(survey.events.values()):
            for group in groups[:3]:
                features.setdefault(
                    f"{event}_taste_{group}",
                    {"affinity": f"item.{group}", "to": event, "per": who, "half_life": "30d"},
                )
            features["seen"] = {"since": "impression", "per": [who, "item"]}
    return features


def _crosses(survey: Survey, fields: dict[str, dict[str, str]]) -> dict[str, Options]:
    """Return categories of requests and users together with those of items.

    Alone they are the same for all items of a list, and so of no use to a linear ranker.
    """
    asked, items = (
        [
            (f"{side}.{name}", name, len(survey.fields[side][name].different))
            for side in sides
            for name, kind in fields[side].items()
            if kind == "category"
            and len(survey.fields[side][name].different) > 1
            and not survey.fields[side][name].are_ids
        ]
        for sides in (("request", "user"), ("item",))
    )
    return {
        f"{name}_{item}": {
            "cross": [ref, item_ref],
            "buckets": _limit(size * item_size, _MOST_CATEGORIES),
        }
        for ref, name, size in asked[:_CROSSED]
        for item_ref, item, item_size in items[:_CROSSED]
    }


def _has_amounts(survey: Survey, event: str) -> bool:
    return len(survey.amounts[event]) > 1


def _feedback(survey: Survey) -> dict[str, object]:
    """Return the grade of each type of events."""
    rules: dict[str, object] = {}
    for event in survey.events:
        if event in _SHOWN:
            continue
        if event in DEFAULT_RULES:
            rules[event] = DEFAULT_RULES[event].gain
        elif _has_amounts(survey, event):
            amounts = sorted(survey.amounts[event])
            steps = amounts[-3:] if len(amounts) <= _FEW else np.quantile(amounts, [0.5, 0.75, 0.9])
            rules[event] = {"gain": 1, "steps": [float(step) for step in steps]}
        else:
            rules[event] = 1.0
    return rules


def _rule(rule: object) -> GradingRule | float:
    if isinstance(rule, dict):
        return GradingRule(rule["gain"], steps=tuple(rule["steps"]))
    return rule  # type: ignore[return-value] # a number


def _add_worth(first: FirstDefinitions, data: QueryDataset) -> None:
    """Add to the remarks what each feature is worth alone."""
    if not (data.y > 0).any():
        first.notes.append(
            "No ranking of the log has feedback: what features are worth is unknown."
        )
        return
    chance = _ndcg(data, np.random.default_rng(0).random(data.n_documents))
    shown = _ndcg(data, -np.arange(data.n_documents, dtype=float))
    first.notes.append(
        f"nDCG@10 of the log's {data.n_queries:,} rankings: {shown:.3f} as shown, {chance:.3f} in "
        "random order. Beside each feature: sorted by it alone; by a category, by what its "
        "grades were before."
    )
    columns = list(data.features or ())
    for name in first.features:
        places = [j for j, column in enumerate(columns) if column.name == name]
        if not places:
            continue
        if columns[places[0]].kind == "category":
            codes = data.X[:, places[0]]
            if not np.isnan(codes).all():
                first.remarks[name] = f"{_ndcg(data, _usual_grades(data, codes)):.3f}"
            continue
        values = data.X[:, places[0]].astype(float)
        if np.isnan(values).all():
            first.remarks[name] = "never known in the log"
            continue
        low = np.where(np.isnan(values), -np.inf, -values)
        high = np.where(np.isnan(values), -np.inf, values)
        down, up = _ndcg(data, high), _ndcg(data, low)
        first.remarks[name] = f"{down:.3f}" if down >= up else f"{up:.3f}, the lowest first"


def _usual_grades(data: QueryDataset, codes: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the mean grade that each row's category had in earlier rankings."""
    places = np.where(np.isnan(codes), -1, codes).astype(int)
    sums, counts = np.zeros(places.max() + 2), np.zeros(places.max() + 2)
    usual = np.zeros(len(places))
    for first, last in itertools.pairwise(data.offsets.tolist()):
        own = places[first:last]
        overall = sums.sum() / max(counts.sum(), 1)
        usual[first:last] = (sums[own] + _PRIOR * overall) / (counts[own] + _PRIOR)
        np.add.at(sums, own, data.y[first:last])
        np.add.at(counts, own, 1)
    return usual


def _ndcg(data: QueryDataset, scores: Any) -> float:
    finite = np.where(np.isneginf(scores), np.finfo(float).min, scores)
    return float(evaluate(data, finite, ["nDCG@10"])["nDCG@10"])


def _shorten(value: object) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 40 else shown[:37] + "..."


def _line(name: str, value: object, remark: str | None) -> str:
    line = f"{toml_key(name)} = {toml_value(value)}"
    return line if remark is None else f"{line}  # {remark}"
