"""Arguments of live features that fit each other, by their names: one small shop."""

from __future__ import annotations

import struct
from functools import cache

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
TYPES = {"numbers": 0, "codes": 1, "flags": 2, "lengths": 3, "vectors": 4, "match": 3}
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
        "key": lambda: one(keys()),
        "users": lambda: bool(rng.integers(2)),
        "values": lambda: [one([value, value, None, ...]) for value in values(one)],
        "field": lambda: TYPES.get(method, 0 if method == "request_code" else one(range(5))),
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
        "items": lambda: [one(NAMES) for _ in range(one(range(6)))],
        "ids": lambda: [one(keys()) for _ in range(one(range(4)))],
        "keys": lambda: [one(keys()) for _ in range(one(range(2)))],
        "context": lambda: _core.FeatureContext(
            *(one([None, *keys()]) for _ in "usq"), [one(NAMES)]
        ),
    }
    return known[name]() if name in known else one(NAMES)


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
    context = _core.FeatureContext(b"a", b"b", b"", ["a"])
    fold.show("r", NAMES, context, 100, 1)
    fold.observe("r", "a", "click", 2.0, context, 200)
    return fold.to_parts()
