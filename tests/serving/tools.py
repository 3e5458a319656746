"""Small loops for tests."""

from __future__ import annotations

import time
from contextlib import contextmanager

import httpx
import numpy as np

from rankloop.serving.journal.ranking_entries import Observed, Ranked, pack_features
from rankloop.serving.policy import choose
from rankloop.serving.server import background
from rankloop.serving.settings.loop import LoopSettings


def small(**changes):
    values = {
        "features": 3,
        "rankers": ("slam:measure=AP", "solar-i"),
        "window": 3600.0,
        "check_every": 10,
    }
    settings = LoopSettings(**values | changes)
    settings.check()
    return settings


def question(rng, n=5, width=3):
    return [f"d{i}" for i in range(n)], rng.normal(size=(n, width)).astype(np.float32)


def ranked(loop, ranking_id, rng, n=5, k=5, session=None, own_order=False):
    """What a service journals when it is asked to rank."""
    items, X = question(rng, n, len(loop.published.settings.names))
    choice = choose(loop.published, X, ranking_id, k, own_order)
    features, compressed = pack_features(X)
    return Ranked(
        ranking_id,
        items,
        X.shape[1],
        features,
        choice.order.tolist(),
        choice.scores.tobytes(),
        choice.version,
        choice.seen,
        choice.model,
        choice.policy,
        None if choice.propensities is None else choice.propensities.tobytes(),
        choice.teams,
        choice.experiment,
        session=session,
        compressed=compressed,
    )


def best_item(entry):
    """What somebody who likes the first feature clicks."""
    X = entry.matrix()[entry.order]
    return entry.items[entry.order[int(X[:, 0].argmax())]]


def click(event_id, entry, item=None):
    return Observed(event_id, entry.id, item or best_item(entry))


def until(condition, seconds=120):
    """Wait until a condition holds; the limit is for a machine that is very busy."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


class Clock:
    """A clock that tests set."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@contextmanager
def running(service):
    """A service that listens, and a client for it."""
    with (
        background(service) as url,
        httpx.Client(base_url=url, timeout=120, trust_env=False) as client,
    ):
        yield client
