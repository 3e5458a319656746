"""A journal at a glance, and the state of an engine for people to read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from rankloop.serving.engine.engine import Engine
    from rankloop.serving.journal.base import Journal

_AT_ONCE = 2000  # entries that are read at a time


class Stats(NamedTuple):
    """A journal at a glance: entries by kind, total bytes, times of the first and last entry."""

    entries: int
    kinds: dict[str, int]
    bytes: int
    first: int
    last: int
    states: list[int]


def stats(journal: Journal) -> Stats:
    """Count the entries and the bytes of a journal."""
    kinds: Counter[str] = Counter()
    size, first, last, after = 0, 0, 0, 0
    while rows := journal.rows(after, limit=_AT_ONCE):
        for row in rows:
            kinds[(row.key or "configured").partition(":")[0]] += 1
            size += len(row.body)
        first = first or rows[0].at
        after, last = rows[-1].position, rows[-1].at
    states = [saved.position for saved in journal.states()]
    return Stats(after, dict(kinds), size, first, last, states)


def describe(engine: Engine) -> dict[str, Any]:
    """Return the state of an engine as plain values for people to read."""
    models = {
        name: {
            "version": model.version,
            "recent": model.curve.recent,
            "mean": model.curve.mean,
            "rankings": model.curve.n,
            "digest": model.ranker.digest(),
        }
        for name, model in engine.models.items()
    }
    return {
        "position": engine.position,
        "digest": engine.digest(),
        "champion": engine.champion,
        "models": models,
        "totals": msgspec.to_builtins(engine.totals),
        "failures": msgspec.to_builtins(engine.failures),
    }
