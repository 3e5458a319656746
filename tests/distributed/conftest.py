"""One cluster for all tests: a scheduler and two workers, processes that talk over TCP."""

from __future__ import annotations

import os
import signal
import time
from itertools import pairwise

import numpy as np
import pytest

from rankloop.data.simulate import mslr_like

pytest.importorskip("distributed")

from rankloop.distributed.cluster import connect


@pytest.fixture(scope="session")
def cluster():
    with connect("local:2") as client:
        yield client


@pytest.fixture
def client(cluster):
    """The cluster with both workers, also after a test that killed one."""
    try:
        cluster.wait_for_workers(2, timeout=60)
    except TimeoutError:  # on a busy machine, what replaces a killed worker may die as well
        cluster.cluster.scale(2)
        cluster.wait_for_workers(2, timeout=120)
    return cluster


@pytest.fixture
def kill(client):
    """A function that kills a worker, as `kill -9` does."""

    def now():
        pids = client.run(os.getpid)
        os.kill(pids[min(pids)], signal.SIGKILL)
        until(lambda: min(pids) not in client.nthreads())

    return now


def until(condition, seconds=120):
    """Wait for a condition, and return whether it became true."""
    deadline = time.monotonic() + seconds
    while not (true := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return true


def queries(n=60, seed=0, **more):
    settings = {"n_features": 5, "mean_length": 8, **more}
    return mslr_like(n, np.random.default_rng(seed), **settings).data


def dealt(data, parts=4):
    """Some queries for each part, in order."""
    cuts = np.linspace(0, len(data), parts + 1).astype(int)
    return [data.select(slice(a, b)) for a, b in pairwise(cuts)]


@pytest.fixture(scope="session")
def data():
    return queries()


@pytest.fixture(scope="session")
def files(data, tmp_path_factory):
    """A folder of Parquet files with whole queries."""
    from rankloop.data.io.tables.writing import write_table

    folder = tmp_path_factory.mktemp("parts")
    for k, part in enumerate(dealt(data)):
        write_table(part, folder / f"part-{k}.parquet")
    return folder
