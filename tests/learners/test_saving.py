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


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(ModelError, match=r"none\.rlm: cannot read it: No such file"):
        load(tmp_path / "none.rlm")
    with pytest.raises(ModelError, match="cannot read it: Is a directory"):
        load(tmp_path)


def test_every_truncation_is_noticed(model):
    whole = model.read_bytes()
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        model.write_bytes(whole[:length])
        with pytest.raises(ModelError, match=r"model\.rlm: .*(damaged|whole copy)"):
            load(model)


def flipped(whole, seed=0):
    """The file with one bit turned, at many places."""
    rng = np.random.default_rng(seed)
    for place in rng.permutation(len(whole))[:400]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.integers(8)
        yield damaged


def test_damage_gives_no_other_model(model):
    """One bit turned: an error, or a place that does not matter (a date, say)."""
    learner, noticed = load(model), 0
    for damaged in flipped(model.read_bytes()):
        model.write_bytes(damaged)
        try:
            found = load(model)
        except Exception:  # which one, the next test asks
            noticed += 1
            continue
        same(found, learner)
        assert repr(found) == repr(learner)
    assert noticed > 300


def test_damage_is_a_model_error(model):
    for damaged in flipped(model.read_bytes()):
        model.write_bytes(damaged)
        with contextlib.suppress(ModelError):
            load(model)


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"PK\x03\x04", b"\x80\x04\x95", b"1 qid:1 1:0.5\n", bytes(1000)],
)
def test_other_files(content, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="other: not a model file, or damaged"):
        load(path)


def rewritten(path, change=lambda manifest: manifest, arrays=None):
    """Write the file anew with another manifest, and perhaps with other arrays."""
    with zipfile.ZipFile(path) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    entries["manifest.json"] = json.dumps(change(json.loads(entries["manifest.json"]))).encode()
    entries.update(arrays or {})
    with zipfile.ZipFile(path, "w") as new:
        for name, content in entries.items():
            new.writestr(name, content)


def changed(**values):
    return lambda manifest: {**manifest, **values}


def changed_content(**values):
    return lambda manifest: {**manifest, "content": {**manifest["content"], **values}}


def test_an_untouched_rewrite_is_read(model):
    learner = load(model)
    rewritten(model)
    same(load(model), learner)


CHANGES = [
    (changed(version=2), "written in format 2, but this version reads up to 1; upgrade rankloop"),
    (changed(format="sklearn"), "not a file of ours"),
    (lambda manifest: [manifest], "not a file of ours"),
    (lambda manifest: {"format": "rankloop", "version": 1}, "damaged"),
    (changed(arrays=["0" * 64] * 3), "does not have its checksum: the file is damaged"),
    (changed(content=[]), "not that of a learner"),
    (changed(content={}), "not that of a learner"),
    (changed_content(learner="Perceptron9"), "'Perceptron9', which this version does not know"),
    (changed_content(learner="os.system"), "which this version does not know"),
    (changed_content(params={"speed": 1}), "not that of a learner"),
    (changed_content(params=3), "not that of a learner"),
    (changed_content(learnt=[1, 2]), "not that of a learner"),
    (changed_content(learner=["Slam"]), "not that of a learner"),
]


@pytest.mark.parametrize(("change", "says"), CHANGES)
def test_strange_manifests(model, change, says):
    rewritten(model, change)
    with pytest.raises(ModelError, match=f"(?s){says}"):
        load(model)


STRANGER = [
    (changed(version="1"), "version"),
    (changed_content(learnt={"predict": 3}), "not that of a learner"),
    (changed_content(learnt={"n_features_in_": 7}), "not that of a learner"),
    (changed(arrays=[]), "not that of a learner|damaged"),
]


@pytest.mark.parametrize(("change", "says"), STRANGER)
def test_stranger_manifests(model, change, says):
    rewritten(model, change)
    with pytest.raises(ModelError, match=says):
        load(model)


def test_a_file_with_objects_is_refused(model):
    """Object arrays are pickles; reading one would run what it says."""
    stream_ = io.BytesIO()
    np.lib.format.write_array(stream_, np.array([print], object), allow_pickle=True)
    rewritten(model, arrays={"0.npy": stream_.getvalue()})
    with pytest.raises(ModelError, match="Object arrays cannot be loaded"):
        load(model)


def test_another_array_is_noticed(model):
    """A whole zip with an array of the right form but other numbers: only our checksum tells."""
    with zipfile.ZipFile(model) as archive_:
        first = np.load(io.BytesIO(archive_.read("0.npy")))
    stream_ = io.BytesIO()
    np.save(stream_, first + 1)
    rewritten(model, arrays={"0.npy": stream_.getvalue()})
    with pytest.raises(ModelError, match="array 0 does not have its checksum"):
        load(model)


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
