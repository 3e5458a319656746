from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import numpy as np
import pytest

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
