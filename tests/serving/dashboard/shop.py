"""A small shop with something to look at."""

from __future__ import annotations

import numpy as np

from rankloop.serving.journal.ranking_entries import Closed
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings
from tests.serving.tools import click, ranked

FEATURES = ["price", "match", "age"]


def start(folder, tokens=(), more=(), **options):
    loop = {"features": FEATURES, "rankers": ["perceptron", "solar-i"], "window": 3600}
    loops = {name: loop | {"journal": str(folder / f"{name}.journal")} for name in ("shop", *more)}
    return Service.start(as_settings({"loops": loops, "tokens": list(tokens)}), **options)


def live(service, n=80, name="shop", first=0):
    """Let people search and click, and all windows but the last three close."""
    loop = service.loops[name]
    rng = np.random.default_rng(first)
    entries = [ranked(loop, f"r{i}", rng) for i in range(first, first + n)]
    loop.append(*entries)
    loop.append(*[click(f"e{entry.id}", entry) for entry in entries])
    loop.append(*[Closed(entry.id) for entry in entries[:-3]])
    loop.settle()


def look(service, clock, times=3, **more):
    """Look several times, a minute apart, with life between."""
    service.boards.look()
    for turn in range(times):
        live(service, 60, first=1000 * (turn + 1), **more)
        clock.now += 60
        service.boards.look()
