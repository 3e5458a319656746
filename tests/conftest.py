from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import hypothesis
import numpy as np
import pytest

from rankloop.learners import registry

from .tiny import Tiny

hypothesis.settings.register_profile("rankloop", deadline=None, print_blob=True)
hypothesis.settings.load_profile("rankloop")

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data: RANKLOOP_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("RANKLOOP_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}; set RANKLOOP_DATA")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)


@pytest.fixture
def tiny(monkeypatch) -> str:
    """A batch ranker that is registered for one test: `tiny`, see tests/tiny.py."""
    module = ModuleType("rankloop.learners.tiny")
    module.Tiny = Tiny
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry._HOME, "tiny", "tiny.Tiny")
    known = {**registry.CLASSES, "Tiny": "tiny.Tiny"}
    monkeypatch.setattr(registry, "CLASSES", known)
    monkeypatch.setattr("rankloop.learners.saving.CLASSES", known)
    monkeypatch.setattr(registry, "NAMES", (*registry.NAMES, "tiny"))
    return "tiny"
