"""Arguments of live features that fit each other, by their names: one small shop."""

from __future__ import annotations

import struct
from functools import cache

import numpy as np

from rankloop import _core

FIELDS = [
    ("number", 0, False),
    ("category", 0, False),
    ("categories", 0, False),
    ("text", 0, True),
    ("vector", 2, False),
]
SLOTS = [
    ("item", 0),
    ("user", 0),
    ("session", 0),
    ("query", 0),
    ("item_field", 1),
    ("user_field", 1),
    ("request_field", 0),
    ("item_field", 2),
    ("user_field", 2),
]
LISTS = 2  # the last slots are lists
RECIPES = [
    ("impression", "", [0], "each", 0, 0),
    ("examination", "click", [0, 1], "each", 1000, 0),
    ("click", "impression", [4, 5, 6], "once", 0, 7000),
    ("click", "", [7, 1, 2, 3], "value", 1000, 0),
    ("click", "", [8, 0], "last", 0, 0),
]
NAMES = ["a", "b", "Ünï", "", "a longer name"]
TEXTS = ["red shoes", "Rote Schuhe, rot", "赤い靴", "", "\u00ad\u0301", "a" * 100]
TYPES = {"codes": 1, "vectors": 4, "match": 3}
STEPS = [
    ("number", "item", 0, 0),
    ("number", "request", 1, 0),
    ("age", "user", 0, 0),
    ("code", "item", 1, 0),
    ("code", "request", 0, 0),
    ("flags", "user", 2, 0),
    ("length", "item", 3, 0),
    ("ratio", "item", 2, 0),
    ("count", "item", 4, 0),
    ("since", "item", 4, 0),
    ("affinity", "item", 3, 1),
]
LINES = [
    b'{"event":"interaction","id":"e1","timestamp":100,"ranking":"r","item":"a","type":"click"}\n',
    b'{"ranking_id": "r", "item": "b", "value": 2.5, "timestamp": "200"}',
    b'{"event":"ranking"}',
    b'{"ranking_id": "none", "item": "a", "timestamp": 300, "event_id": "e2"',
]
SHOP = {
    "items": FIELDS,
    "users": FIELDS,
    "request_fields": 1,
    "slots": SLOTS,
    "recipes": RECIPES,
    "examination": [1.0, 0.5, 0.1],
}


def argument(world, name):
    """An argument that fits, as a rule."""
    rng, method = world.rng, world.function.partition(".")[2]
    if world.function == "FeatureFold" and name in SHOP:
        return SHOP[name]
    part = filled()[world.q % len(filled())]  # the same for its name and for its bytes

    def one(of):
        return of[int(rng.integers(len(of)))]

    known = {
        "max_keys": lambda: one([0, 1, 3, 1000]),
        "max_rankings": lambda: one([0, 1, 3, 1000]),
        "user": lambda: one([None, *keys()]),
        "session": lambda: one([None, *keys()]),
        "query": lambda: one(TEXTS if method else [None, *keys()]),
        "words": lambda: [one([None, *NAMES])],
        "numbers": lambda: [one([0.0, float("nan")]), 1.5],
        "key": lambda: one(keys()),
        "users": lambda: bool(rng.integers(2)),
        "values": lambda: [one([value, value, None, ...]) for value in values(one)],
        "field": lambda: TYPES.get(method, one(range(5))),
        "source": lambda: one(["item", "user", "request"]),
        "at": lambda: one([0, 10, 500, 1000, 6000, 10**6, -(10**6), 2**53]),
        "first_place": lambda: one([1, 2, 100]),
        "limit": lambda: one([0, 1, 2, 1000]),
        "buckets": lambda: one([1, 2, 1000]),
        "counter": lambda: one(range(len(RECIPES))),
        "slots": lambda: [one(range(len(SLOTS) - LISTS)) for _ in range(one(range(4)))],
        "value": lambda: one([0.0, 1.0, -2.5, 1e300]),
        "event": lambda: one(["click", "click", "impression", "buy"]),
        "how": lambda: one(["terms", "ngrams", "bm25"]),
        "name": lambda: part[0],
        "part": lambda: part[1],
        "items": lambda: [one(NAMES) for _ in range(world.k % 6)],
        "ids": lambda: [one(keys()) for _ in range(one(range(4)))],
        "keys": lambda: [one(keys()) for _ in range(one(range(2)))],
        "context": lambda: context(one),
        "nobody": lambda: context(one),
        "side": lambda: one(["item", "user"]),
        "item": lambda: one(range(3)) if method == "sums" else one(NAMES),
        "steps": lambda: steps(one) if not method else _core.FeatureSteps(steps(one), 9),
        "width": lambda: 9,
        "out": lambda: np.zeros((world.k % 6, 9), np.float32),
        "fold": full,
        "lines": lambda: [one(LINES) for _ in range(one(range(6)))],
        "seconds": lambda: bool(rng.integers(2)),
        "interactions": lambda: _core.read_interactions(LINES, False)[0][1],
        "since": lambda: one([0, 100, -(2**53)]),
        "event_id": lambda: one([None, *NAMES]),
        "ranking": lambda: one([*NAMES, "r"]),
    }
    return known[name]() if name in known else one(NAMES)


def context(one):
    """Who asks."""
    return _core.FeatureContext(*(one([None, *keys()]) for _ in "usq"), [one(NAMES)], [0.0, 1.5])


def steps(one):
    """Steps of nine columns."""
    made = []
    for place in range(7):
        operation, side, number, overall = one(STEPS)
        made.append((operation, place, side, number, overall, 2, 1, one([0.0, 2.0])))
    return made


def keys():
    """The ids of items and users, as bytes."""
    return [name.encode() for name in NAMES]


def values(one):
    """A value for each field."""
    return [
        one([0.0, -1.5, 1e30]),
        one(NAMES),
        tuple(one(NAMES) for _ in range(one(range(4)))),
        one(TEXTS),
        struct.pack("2f", 1.0, one([0.0, float("nan")])),
    ]


@cache
def filled():
    """The parts of a state with items, users, rankings and counts."""
    fold = _core.FeatureFold(**SHOP, max_keys=1000, max_rankings=1000)
    for name in NAMES:
        row = values(lambda of, name=name: of[NAMES.index(name) % len(of)])
        fold.put(False, name.encode(), row)
        fold.put(True, name.encode(), row)
    fold.remove(False, b"b")
    asked = _core.FeatureContext(b"a", b"b", b"", ["a"], [0.0, 1.5])
    fold.show("r", NAMES, asked, 100, 1)
    fold.observe("r", "a", "click", 2.0, asked, 200)
    return fold.to_parts()


def full():
    """A state with items, users, rankings and counts."""
    fold = _core.FeatureFold(**SHOP, max_keys=9, max_rankings=9)
    for name, part in filled():
        fold.read_part(name, part)
    return fold
