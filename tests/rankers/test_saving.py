"""Saving and loading: nothing changes, nothing is lost."""

from __future__ import annotations

import dataclasses
import errno
import subprocess
import sys
import time

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import ModelError, NotFittedError
from rankloop.measures.measure import nDCG
from rankloop.rankers.forms import Anything
from rankloop.rankers.kernel.kernels import RBF
from rankloop.rankers.model_files import archive
from rankloop.rankers.model_files.saving import from_tree, load, to_tree
from rankloop.rankers.registry import make_ranker

from . import small
from .streams import stream
from .test_properties import EVERY as ONLINE
from .test_properties import same

BATCH = [name for name in small.EVERY if name not in small.ONLINE]
EVERY = [*ONLINE, *BATCH, "ranknet:hidden=3"]
LEARNS_NOTHING = ("constant", "imported")


@pytest.fixture
def model(tmp_path):
    """A saved ranker's file."""
    path = tmp_path / "model.rlm"
    make_ranker("solar-ii:gamma=10").fit(stream("short", seed=1)).save(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BATCH, "ranknet:hidden=3"])
def test_saving_a_batch_ranker_changes_nothing(name, tmp_path):
    first, second = stream("short", seed=1), stream("short", seed=2)
    named = dataclasses.replace(first, feature_names=tuple("abcdefg"))
    ranker = make_ranker(name).fit(named)
    ranker.save(tmp_path / "a")
    again = load(tmp_path / "a")
    assert again.explain() == ranker.explain()
    assert np.array_equal(again.predict(second), ranker.predict(second))
    for one in (again, ranker):
        one.go_on(second)
    same(again, ranker)
    assert again.rank(second.query(3), id="r") == ranker.rank(second.query(3), id="r")


@pytest.mark.matrix
@pytest.mark.parametrize("name", ONLINE)
def test_saving_changes_nothing_and_learning_goes_on(name, tmp_path):
    first, second = stream("short", seed=1), stream("short", seed=2)
    ranker = make_ranker(name).fit(first)
    ranker.save(tmp_path / "a")
    again = load(tmp_path / "a")
    same(again, ranker)
    assert np.array_equal(again.predict(second), ranker.predict(second))
    assert np.array_equal(again.predict_then_learn(second), ranker.predict_then_learn(second))
    same(again, ranker)
    assert again.rank(second.query(3), id="r") == ranker.rank(second.query(3), id="r")


@pytest.mark.slow
@pytest.mark.parametrize("name", BATCH)
def test_saving_changes_nothing_in_batch(name, tmp_path):
    ranker = make_ranker(name).fit(stream("short", seed=1))
    ranker.save(tmp_path / "a")
    again = load(tmp_path / "a")
    same(again, ranker)
    data = stream("short", seed=2)
    assert np.array_equal(again.predict(data), ranker.predict(data))
    assert again.explain() == ranker.explain()


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_ranker_that_knows_nothing(name, tmp_path):
    make_ranker(name).save(tmp_path / "a")
    again = load(tmp_path / "a")
    with pytest.raises(NotFittedError):
        again.predict(stream())
    same(again.fit(stream()), make_ranker(name).fit(stream()))


@pytest.mark.parametrize("name", EVERY)
def test_parameters_come_back(name, tmp_path):
    make_ranker(name).save(tmp_path / "a")
    assert repr(load(tmp_path / "a")) == repr(make_ranker(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_equal_models_are_equal_bytes(name, tmp_path):
    for file in "ab":
        make_ranker(name).fit(stream("short", seed=1)).save(tmp_path / file)
    make_ranker(name).fit(stream("short", seed=2)).save(tmp_path / "c")
    load(tmp_path / "a").save(tmp_path / "d")
    one, same_one, other, again = ((tmp_path / file).read_bytes() for file in "abcd")
    assert one == same_one == again
    assert one != other or name in LEARNS_NOTHING


def test_measures_are_saved_as_text(tmp_path):
    make_ranker("slam").set_params(measure=nDCG @ 5).save(tmp_path / "a")
    assert repr(load(tmp_path / "a")) == "Slam(measure='nDCG@5')"


def test_numbers_of_numpy_are_saved(tmp_path):
    make_ranker("slam").set_params(rate=np.float64(0.5), passes=np.int64(2)).save(tmp_path / "a")
    assert load(tmp_path / "a").get_params()["rate"] == 0.5


def test_objects_are_not_written(tmp_path):
    for value in (np.array([None]), np.array(["text"])):
        with pytest.raises(TypeError, match="cannot store an array"):
            archive.write_archive(tmp_path / "a", {"x": value})
    with pytest.raises(TypeError):
        archive.write_archive(tmp_path / "a", {"x": object()})
    assert list(tmp_path.iterdir()) == []


def test_parameters_that_are_arrays_or_kernels_can_be_read_again(tmp_path):
    rl.LambdaMART(increasing=np.array([0, 2])).save(tmp_path / "a")
    assert load(tmp_path / "a").increasing == [0, 2]
    make_ranker("kernel-slam").set_params(kernel=RBF(2.0) + RBF(0.5)).save(tmp_path / "b")
    assert repr(load(tmp_path / "b")) == "KernelSlam(kernel='rbf(2)+rbf(0.5)')"


# What a ranker says of what it learns


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_every_part_that_is_learnt_has_a_form(name):
    ranker = make_ranker(name).fit(stream("short", seed=1))
    forms = ranker._forms(ranker.n_features_in_)
    assert forms.keys() == ranker._state().keys()
    assert not any(isinstance(form, Anything) for form in forms.values())
    ranker._check_state(from_tree(to_tree(ranker))._state())


# Large arrays, most of them zeros: deflated they would look like an attempt to exhaust memory


def test_a_large_array_of_zeros_is_stored_as_it_is(tmp_path):
    large = np.zeros(archive._SMALL // 8 + 1)
    archive.write_archive(tmp_path / "a", {"large": large, "small": np.zeros(100)})
    assert (tmp_path / "a").stat().st_size > large.nbytes
    assert np.array_equal(archive.read_archive(tmp_path / "a")["large"], large)


def test_many_arrays_of_zeros_are_stored_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_SMALL", 1 << 16)
    monkeypatch.setattr(archive, "_ALL_SMALL", 1 << 17)
    monkeypatch.setattr(archive, "_SWELL", 1)
    for count in (1, 2, 3, 10, 50):
        arrays = [np.full(5000, float(k)) for k in range(count)]
        archive.write_archive(tmp_path / "a", arrays)
        for one, again in zip(arrays, archive.read_archive(tmp_path / "a"), strict=True):
            assert np.array_equal(one, again)


# Where a file cannot be written


def test_an_interrupted_save_leaves_the_old_file(model, monkeypatch):
    before = model.read_bytes()

    def failing(*_args, **_kwargs):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(np.lib.format, "write_array", failing)
    with pytest.raises(ModelError, match="Input/output error; the model is not saved"):
        make_ranker("solar-ii").fit(stream("short", seed=5)).save(model)
    assert model.read_bytes() == before
    assert [file.name for file in model.parent.iterdir()] == ["model.rlm"]


def test_a_full_disk_is_a_model_error(model):
    with pytest.raises(ModelError, match="cannot write /dev/full: No space left on device"):
        load(model).save("/dev/full")
    code = (
        "import resource, signal, sys; from rankloop import load, ModelError;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); model = load(sys.argv[1]);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try: model.save(sys.argv[1])\nexcept ModelError as error: print(error)"
    )
    before = model.read_bytes()
    command = [sys.executable, "-c", code, str(model)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"cannot write {model}: File too large; the model is not saved" in said
    assert model.read_bytes() == before


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ModelError, match=r"cannot write .*: No such file or directory; the model"):
        make_ranker("slam").save(tmp_path / "none" / "model.rlm")


KILLED = """
import sys, numpy as np, rankloop as rl
from rankloop.rankers.model_files import archive
model = rl.load(sys.argv[1])
print("ready", flush=True)
while True:
    model.save(sys.argv[1])
"""


@pytest.mark.slow
def test_a_kill_at_any_time_leaves_a_whole_file_and_no_other(model):
    ranker = load(model)
    for k in range(6):
        command = [sys.executable, "-c", KILLED, str(model)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(0.003 * k)
            process.kill()
        same(load(model), ranker)
        left = [file.name for file in model.parent.iterdir() if file != model]
        assert left in ([], [".model.rlm.rankloop-new"])  # a kill between two system calls
    ranker.save(model)
    assert [file.name for file in model.parent.iterdir()] == ["model.rlm"]
