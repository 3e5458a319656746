"""For all tests and examples: what an example prints is compared as tests/shown.py says."""

from __future__ import annotations

import pytest
from tests.shown import ShownOutput


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every doctest our comparison."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.runner._checker = ShownOutput()
