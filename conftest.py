"""For all tests and examples: few threads a process; shown output compared by tests/shown.py."""

from __future__ import annotations

import os

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every doctest our comparison."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.runner._checker = ShownOutput()
