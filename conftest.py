"""For all tests and examples: few threads a process; shown output compared by tests/shown.py."""

from __future__ import annotations

import os
from collections import defaultdict

import pytest
from tests.shown import ShownOutput

# Each of pytest's workers, and each process that a test starts, takes two threads however many
# processors there are, so that threads are tried on any machine and do not crowd a large one. Those
# of LightGBM wait asleep: awake, they make a busy machine several times slower.
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Hundreds of them import the package: they keep what they compile, as Python does by itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True)
def _no_rankers_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a test or an example registers to itself."""
    monkeypatch.setattr("rankloop.rankers.registry._registered", {})


SLOW_PAGES = ("clicks.md", "predtron.md", "trees.md")
"""Pages whose examples take seconds."""

SLOW_FIXTURES = {"browser", "cluster", "data_dir"}
"""What takes seconds to start, or exists on few machines."""

KEPT = 6
"""How many cases of a matrix `make test` runs; they are spread over it, and the same every time."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every doctest our comparison, and say what is slow by its fixtures, page or matrix."""
    matrices = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.runner._checker = ShownOutput()
            if item.path.name in SLOW_PAGES:
                item.add_marker("slow")
        elif SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
        elif item.get_closest_marker("matrix"):
            matrices[item.nodeid.partition("[")[0]].append(item)
    for cases in matrices.values():
        cases.sort(key=lambda item: item.nodeid)
        kept = cases[:: -(-len(cases) // KEPT)]
        for item in cases:
            if item not in kept:
                item.add_marker("slow")
