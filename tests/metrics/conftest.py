from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def naive() -> ModuleType:
    """The plain definitions in naive.py (test folders are no packages, so load it by path)."""
    path = Path(__file__).with_name("naive.py")
    spec = importlib.util.spec_from_file_location("rankloop_naive_measures", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
