"""Model files: nothing changes, nothing is lost, nothing runs."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import zipfile

import numpy as np
import pytest

from rankloop.exceptions import ModelError, NotFittedError
from rankloop.learners import archive
from rankloop.learners.registry import NAMES, ONLINE_NAMES, make_learner
from rankloop.learners.saving import load
from rankloop.metrics.measures import nDCG

from .streams import stream
from .test_properties import EVERY as ONLINE
from .test_properties import same

BATCH = [name for name in NAMES if name not in ONLINE_NAMES]
EVERY = [*ONLINE, *BATCH, "ranknet:hidden=3"]
LEARNS_NOTHING = ("constant",)


@pytest.fixture
def model(tmp_path):
    """A saved learner's file."""
    path = tmp_path / "model.rlm"
    make_learner("solar-ii:gamma=10").fit(stream("short", seed=1)).save(path)
    return path


@pytest.mark.parametrize("name", [*BATCH, "ranknet:hidden=3"])
def test_saving_a_batch_learner_changes_nothing(name, tmp_path):
    first, second = stream("short", seed=1), stream("short", seed=2)
    named = dataclasses.replace(first, feature_names=tuple("abcdefg"))
    learner = make_learner(name).fit(named)
    learner.save(tmp_path / "a")
    again = load(tmp_path / "a")
    assert again.explain() == learner.explain()
    assert np.array_equal(again.predict(second), learner.predict(second))
    for one in (again, learner):
        one.set_params(warm_start=True).fit(second)
    same(again, learner)
    assert again.rank(second.query(3)).id == learner.rank(second.query(3)).id


@pytest.mark.parametrize("name", ONLINE)
def test_saving_changes_nothing_and_learning_goes_on(name, tmp_path):
    first, second = stream("short", seed=1), stream("short", seed=2)
    learner = make_learner(name).fit(first)
    learner.save(tmp_path / "a")
    again = load(tmp_path / "a")
    same(again, learner)
    assert np.array_equal(again.predict(second), learner.predict(second))
    assert np.array_equal(again.progress(second), learner.progress(second))
    same(again, learner)
    assert again.rank(second.query(3)).id == learner.rank(second.query(3)).id


@pytest.mark.parametrize("name", BATCH)
def test_saving_changes_nothing_in_batch(name, tmp_path):
    learner = make_learner(name).fit(stream("short", seed=1))
    learner.save(tmp_path / "a")
    again = load(tmp_path / "a")
    same(again, learner)
    data = stream("short", seed=2)
    assert np.array_equal(again.predict(data), learner.predict(data))
    assert again.explain() == learner.explain()


@pytest.mark.parametrize("name", NAMES)
def test_a_learner_that_knows_nothing(name, tmp_path):
    make_learner(name).save(tmp_path / "a")
    again = load(tmp_path / "a")
    with pytest.raises(NotFittedError):
        again.predict(stream())
    same(again.fit(stream()), make_learner(name).fit(stream()))


@pytest.mark.parametrize("name", [*EVERY, *BATCH])
def test_parameters_come_back(name, tmp_path):
    make_learner(name).save(tmp_path / "a")
    assert repr(load(tmp_path / "a")) == repr(make_learner(name))


@pytest.mark.parametrize("name", [*EVERY, *BATCH])
def test_equal_models_are_equal_bytes(name, tmp_path):
    for file in "ab":
        make_learner(name).fit(stream("short", seed=1)).save(tmp_path / file)
    make_learner(name).fit(stream("short", seed=2)).save(tmp_path / "c")
    load(tmp_path / "a").save(tmp_path / "d")
    one, same_one, other, again = ((tmp_path / file).read_bytes() for file in "abcd")
    assert one == same_one == again
    assert one != other or name in LEARNS_NOTHING


def test_measures_are_saved_as_text(tmp_path):
    make_learner("slam").set_params(measure=nDCG @ 5).save(tmp_path / "a")
    assert repr(load(tmp_path / "a")) == "Slam(measure='nDCG@5')"


def test_numbers_of_numpy_are_saved(tmp_path):
    make_learner("slam").set_params(rate=np.float64(0.5), passes=np.int64(2)).save(tmp_path / "a")
    assert load(tmp_path / "a").get_params()["rate"] == 0.5


def test_objects_are_not_written(tmp_path):
    for value in (np.array([None]), np.array(["text"])):
        with pytest.raises(TypeError, match="cannot store an array"):
            archive.write_archive(tmp_path / "a", {"x": value})
    with pytest.raises(TypeError):
        archive.write_archive(tmp_path / "a", {"x": object()})
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_save_leaves_the_old_file(model, monkeypatch):
    before = model.read_bytes()

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="No space left"):
        make_learner("solar-ii").fit(stream("short", seed=5)).save(model)
    assert model.read_bytes() == before
    assert [file.name for file in model.parent.iterdir()] == ["model.rlm"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="cannot write"):
        make_learner("slam").save(tmp_path / "none" / "model.rlm")
