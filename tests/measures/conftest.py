from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rankloop.data.dataset import QueryDataset
from rankloop.data.io.letor import read_letor
from rankloop.data.simulate import mslr_like

if TYPE_CHECKING:
    from types import ModuleType


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


def _made_up(grades, *, sizes=(1, 30), queries=200):
    """Queries with many ties; in the first tenth of them no document is relevant."""
    rng = np.random.default_rng(7)
    group = rng.integers(*sizes, queries)
    n = group.sum()
    y = rng.choice(np.asarray(grades, float), n)
    y[: group[: queries // 10].sum()] = 0
    ids = [f"d{i}" for i in rng.permutation(n)]
    data = QueryDataset.from_arrays(np.zeros((n, 1)), y, group=group, doc_ids=ids)
    return data, rng.integers(0, 6, n).astype(float)


@pytest.fixture(scope="session")
def made_up():
    return _made_up


@pytest.fixture(scope="session")
def real(data_dir):
    return {
        name: read_letor(*sorted((data_dir / name).glob("S*.txt.xz")))
        for name in ("MQ2008", "OHSUMED")
    }


SHAPES = {
    "MQ2008": (784, {"n_features": 46, "mean_length": 19, "grade_shares": (0.81, 0.13, 0.06)}),
    "OHSUMED": (106, {"n_features": 45, "mean_length": 152, "grade_shares": (0.70, 0.16, 0.14)}),
}


@pytest.fixture(scope="session")
def collections():
    """Simulated collections of the sizes, lengths and grades of two real ones."""
    rng = np.random.default_rng(5)
    made = {name: mslr_like(n, rng, **shape).data for name, (n, shape) in SHAPES.items()}
    return {
        name: replace(data, doc_ids=np.char.add("d", rng.permutation(data.n_documents).astype(str)))
        for name, data in made.items()
    }


RANKINGS = ["MQ2008", "MQ2008 tied", "OHSUMED", "OHSUMED tied", "made up", "long"]
REAL = ["real MQ2008", "real MQ2008 tied", "real OHSUMED", "real OHSUMED tied"]
RANKINGS += [pytest.param(name, marks=pytest.mark.slow) for name in REAL]


@pytest.fixture(scope="session", params=RANKINGS)
def ranked(request):
    """A data set with grades 0 to 2 (made up: to 4) and scores, few or many of them tied."""
    source = "real" if request.param.startswith("real ") else "collections"
    name, *tied = request.param.removeprefix("real ").split()
    if name == "made":
        return _made_up([0, 0, 0, 1, 2, 3, 4])
    if name == "long":  # lists above 192 documents are sorted in another way
        return _made_up([0, 0, 0, 1, 2], sizes=(190, 260), queries=40)
    data = request.getfixturevalue(source)[name]
    scores = data.X @ np.random.default_rng(3).normal(size=data.n_features)
    return data, np.round(scores) if tied else scores
