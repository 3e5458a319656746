"""Definitions from a configuration of Metarank; what has no counterpart is named."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Options = dict[str, Any]

_SIDES = {"item": "item", "metadata": "item", "user": "user", "ranking": "request"}
_MATCHES = {"bm25": "bm25", "ngram": "ngrams", "term": "terms"}
_CLOCKS = {"time_of_day": "hour", "day_of_week": "weekday"}
_HOURS = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_WHO = ("user", "session")


class _NoCounterpartError(Exception):
    """An extractor cannot be translated; the message says why, and what to do."""


@dataclass
class Translation:
    """Fields and features as in the settings of a loop.

    remarks : about features that are not quite the same, by name
    left_out : why an extractor was left out, and what to do instead, by name
    """

    fields: dict[str, dict[str, str]] = field(
        default_factory=lambda: {"item": {}, "user": {}, "request": {}}
    )
    features: dict[str, Options] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def translate_extractors(extractors: list[Mapping[str, Any]]) -> Translation:
    """Return the definitions of Metarank's extractors.

    >>> price = {"name": "price", "type": "number", "scope": "item", "source": "item.price"}
    >>> agent = {"name": "agent", "type": "ua", "source": "ranking.ua", "field": "platform"}
    >>> made = translate_extractors([price, agent])
    >>> made.fields["item"], made.features
    ({'price': 'number'}, {'price': {'number': 'item.price'}})
    >>> made.left_out
    {'agent': 'ua: send what it says as a category of the request, and use cross'}
    """
    made = Translation()
    for number, extractor in enumerate(extractors, start=1):
        if not isinstance(extractor, dict) or "type" not in extractor:
            raise DataError(f"feature {number}: expected an object with name and type")
        kind, name = str(extractor["type"]), str(extractor.get("name", extractor["type"]))
        translate = _KINDS.get(kind)
        try:
            if translate is None:
                reason = _WITHOUT.get(kind, "it is not known here")
                raise _NoCounterpartError(reason)  # noqa: TRY301 - one place for all reasons
            translate(made, name, extractor)
        except _NoCounterpartError as reason:
            made.left_out[name] = f"{kind}: {reason}"
    return made


# ---- fields


def _source(extractor: Mapping[str, Any], option: str = "") -> tuple[str, str]:
    """Return the side and the name of an extractor's field."""
    value = extractor.get(option) if option else extractor.get("source", extractor.get("field"))
    if extractor.get("source") in _SIDES and "field" in extractor:  # written apart
        value = f"{extractor['source']}.{extractor['field']}"
    if isinstance(value, dict):
        value = f"{value.get('event')}.{value.get('field')}"
    side, _, name = str(value).partition(".")
    if side not in _SIDES or not name:
        raise _NoCounterpartError(f"its source is {value!r}, which is no field")
    if name == "timestamp":
        raise _NoCounterpartError("it reads the time of the event; send it as a field")
    return _SIDES[side], name


def _field(made: Translation, side: str, name: str, *types: str) -> str:
    """Return a field that has one of some types; define it with the first if it is new."""
    known = made.fields[side].setdefault(name, types[0])
    if known == "category" and "categories" in types and types[0] == "categories":
        raise _NoCounterpartError(f"another extractor takes {side}.{name} as a single category")
    if known not in types:
        raise _NoCounterpartError(
            f"another extractor takes {side}.{name} as {known}, and this one as {types[0]}; send "
            "it under two names"
        )
    return f"{side}.{name}"


# ---- one function for each type of extractors


def _scalar(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    side, source = _source(extractor)
    kind = str(extractor["type"])
    if side == "request" or source == "relevancy":  # fields of the ranking, and of its items
        made.features[source] = {"given": "number"}
        if source != name:
            made.remarks[source] = f"{name} in Metarank; given features have the name of the field"
        return
    made.features[name] = {kind: _field(made, side, source, kind)}


def _string(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    side, source = _source(extractor)
    n = len(extractor.get("values") or ())
    limit = {"limit": max(n, 1)} if n else {}
    if made.fields[side].get(source) == "categories" or extractor.get("encode") == "onehot":
        if side == "request":
            raise _NoCounterpartError("lists of categories of a request are not features")
        made.features[name] = {"categories": _field(made, side, source, "categories"), **limit}
    else:
        made.features[name] = {"category": _field(made, side, source, "category"), **limit}
    if side != "item":
        made.remarks[name] = "the same for all items of a list; see cross"


def _words(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    side, source = _source(extractor)
    if side != "item":
        raise _NoCounterpartError("only words of items are counted; send the number")
    made.features[name] = {"words": _field(made, side, source, "text")}


def _size(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    side, source = _source(extractor)
    if side == "request":
        raise _NoCounterpartError("only lists of items and users are counted; send the number")
    made.features[name] = {"size": _field(made, side, source, "categories")}


def _relative(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    side, source = _source(extractor)
    if side == "request":
        raise _NoCounterpartError("a number of the request is the same for all items")
    number = f"{name} as it is"
    made.features[number] = {"number": _field(made, side, source, "number")}
    made.features[name] = {"relative": number, "by": "rank"}
    made.remarks[name] = "compared with the items of the list, not with all that were seen"


def _vector(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    side, source = _source(extractor)
    reduced = extractor.get("reduce") or ["min", "max", "size", "avg"]
    sizes = [re.fullmatch(r"vector(\d+)", str(way)) for way in reduced]
    found = next((match for match in sizes if match), None)
    if found is None:
        raise _NoCounterpartError(f"send {', '.join(map(str, reduced))} as numbers of their own")
    made.features[name] = {"vector": _field(made, side, source, f"vector({found[1]})")}
    if len(sizes) > 1:
        made.remarks[name] = "only the vector itself; send other summaries of it as numbers"


def _age(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    side, source = _source(extractor)
    made.features[name] = {"age": _field(made, side, source, "date")}
    made.remarks[name] = "in days; numbers are milliseconds, so send dates as text"


def _time(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    parse = str(extractor.get("parse", "time_of_day"))
    if parse not in _CLOCKS:
        raise _NoCounterpartError(f"{parse}: send it as a number or a category of the request")
    made.features[name] = {"clock": _CLOCKS[parse]}
    made.remarks[name] = "of the time of the request, in UTC; set an offset for local time"


def _scope(extractor: Mapping[str, Any], made: Translation) -> list[str]:
    """Return the parts of a counter's key."""
    scope = str(extractor.get("scope", "item"))
    if scope in ("item", *_WHO):
        return [scope]
    side, _, name = scope.partition(".")
    if scope == "ranking.query":
        made.fields["request"]["query"] = "text"
        return ["request.query", "item"]
    if side in _SIDES and name:
        part = _field(made, _SIDES[side], name, "category", "categories")
        return [part] if _SIDES[side] == "item" else [part, "item"]
    raise _NoCounterpartError(f"its scope is {scope!r}")


def _count(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    made.features[name] = {"count": _event(extractor), "per": _scope(extractor, made)}


def _window(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    bucket = extractor.get("bucket_size", extractor.get("bucket", "24h"))
    event, per = _event(extractor), _scope(extractor, made)
    for n in extractor.get("windows") or extractor.get("periods") or ():
        options = {"count": event, "per": per, "window": _duration(bucket, n)}
        made.features[f"{name}_{n}"] = options


def _rate(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    top, bottom = str(extractor.get("top", "click")), str(extractor.get("bottom", "impression"))
    per = _scope(extractor, made)
    for n in extractor.get("periods") or ():
        window = _duration(extractor.get("bucket", "24h"), n)
        made.features[f"{name}_{n}"] = {"rate": top, "of": bottom, "per": per, "window": window}
    if extractor.get("normalize"):
        weight = dict(extractor["normalize"]).get("weight", 10)
        for n in extractor.get("periods") or ():
            made.remarks[f"{name}_{n}"] = (
                f"set prior to {weight} divided by the usual rate: it counts {bottom}s, not {top}s"
            )


def _interacted(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    scope, event = str(extractor.get("scope", "user")), _event(extractor)
    found = extractor.get("field", extractor.get("source"))
    fields = found if isinstance(found, list) else [found]
    if scope not in _WHO:
        raise _NoCounterpartError(f"its scope is {scope!r}, expected user or session")
    for ref in fields:
        side, source = _source({"source": ref})
        if side != "item":
            raise _NoCounterpartError(f"{ref} is no field of items")
        part = _field(made, side, source, "category", "categories")
        feature = name if len(fields) == 1 else f"{name}_{source}"
        made.features[feature] = {"affinity": part, "to": event, "per": scope}
        made.remarks[feature] = "how much more than usual, instead of how many"


def _match(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    method = extractor.get("method") or {}
    by = _MATCHES.get(str(method.get("type")).lower())
    if by is None:
        raise _NoCounterpartError(
            f"method {method.get('type')}: send both vectors as fields, of the request and of the "
            "item, and use cosine"
        )
    asked, text = _source(extractor, "rankingField"), _source(extractor, "itemField")
    query = _field(made, asked[0], asked[1], "text")
    made.features[name] = {"match": [query, _field(made, *text, "text")], "by": by}
    made.remarks[name] = "words are not stemmed"


def _diversity(made: Translation, name: str, extractor: Mapping[str, Any]) -> None:
    side, source = _source(extractor)
    known = made.fields[side].get(source)
    if known == "number":
        feature = next(
            (n for n, o in made.features.items() if o.get("number") == f"{side}.{source}"), None
        )
        if feature is not None:
            made.features[name] = {"relative": feature, "by": "above_middle"}
            return
    top = int(extractor.get("top", 10))
    made.features[name] = {"diversity": _field(made, side, source, "category"), "top": top}
    made.remarks[name] = "the share of others that differ; for a number, use relative"


def _relevancy(made: Translation, name: str, _: Mapping[str, Any]) -> None:
    made.features["relevancy"] = {"given": "number"}
    if name != "relevancy":
        made.remarks["relevancy"] = f"{name} in Metarank"


def _event(extractor: Mapping[str, Any]) -> str:
    return str(extractor.get("interaction", "click"))


def _duration(bucket: object, n: object) -> str:
    """Return n buckets as a duration, such as `7d` for 7 buckets of `24h`."""
    found = _HOURS.fullmatch(str(bucket).strip())
    if found is None or not isinstance(n, int):
        raise _NoCounterpartError(f"the window {n!r} of buckets of {bucket!r} is not understood")
    amount, unit = float(found[1]) * n, found[2]
    if unit == "h" and amount % 24 == 0:
        amount, unit = amount / 24, "d"
    return f"{amount:g}{unit}"


_KINDS: dict[str, Callable[[Translation, str, Mapping[str, Any]], None]] = {
    "number": _scalar,
    "boolean": _scalar,
    "string": _string,
    "word_count": _words,
    "list_size": _size,
    "relative_number": _relative,
    "vector": _vector,
    "item_age": _age,
    "local_time": _time,
    "interaction_count": _count,
    "window_count": _window,
    "rate": _rate,
    "interacted_with": _interacted,
    "field_match": _match,
    "diversity": _diversity,
    "relevancy": _relevancy,
}
_WITHOUT = {
    "position": "learn from corrected clicks instead (examination, learn_from = 'ips')",
    "random": "explore instead (policy = 'plackett-luce')",
    "ua": "send what it says as a category of the request, and use cross",
    "referer": "send its kind as a category of the request, and use cross",
}
