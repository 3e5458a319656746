"""The engine alone, without a journal: what a restored state keeps, and what it drops."""

from __future__ import annotations

import msgspec
import numpy as np

from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.state import State
from rankloop.serving.journal.action_entries import Configured
from rankloop.serving.journal.base import Record
from rankloop.serving.journal.ranking_entries import Closed, Observed, Ranked, pack_features

from .tools import small

SAVED = 61  # entries before the saved state: the settings, and twenty rankings
WAITING = 16  # entries of the engine that is restored: fewer examples than are learnt together


def journal():
    """Thirty rankings, each clicked and closed, by position; no digest is taken between them."""
    rng = np.random.default_rng(0)
    entries = [Configured(small(check_every=10_000).to_bytes(), 1)]
    for n in range(30):
        X = rng.normal(size=(4, 3)).astype(np.float32)
        scores = rng.normal(size=4).tobytes()
        features, _ = pack_features(X)
        items = ["a", "b", "c", "d"]
        entries.append(Ranked(f"r{n}", items, 3, features, [2, 0, 3, 1], scores))
        entries.append(Observed(f"e{n}", f"r{n}", items[int(X[:, 0].argmax())]))
        entries.append(Closed(f"r{n}"))
    return dict(enumerate(entries, start=1))


def apply(engine, entries, first, last):
    for position in range(first, last + 1):
        engine.apply(Record(position, position, entries[position]))


def test_a_restored_engine_drops_the_examples_that_wait():
    entries = journal()
    source = Engine(entries.__getitem__)
    apply(source, entries, 1, SAVED)
    body = msgspec.msgpack.encode(source.state())
    clean, used = Engine(entries.__getitem__), Engine(entries.__getitem__)
    apply(used, entries, 1, WAITING)
    assert len(used._waiting) == 5  # without them the test would prove nothing
    for engine in (clean, used):
        engine.restore(msgspec.msgpack.decode(body, type=State))
    for engine in (source, clean, used):  # nobody learns between the restore and the next entry
        apply(engine, entries, SAVED + 1, len(entries))
    assert used.digest() == clean.digest() == source.digest()
