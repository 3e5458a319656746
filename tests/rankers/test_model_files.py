"""Files that are damaged, foreign or made to harm: each is a ModelError, and no more."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import ModelError
from rankloop.rankers.model_files.saving import from_tree, load, to_tree
from rankloop.rankers.registry import make_ranker

from .small import EVERY
from .streams import stream
from .test_properties import same


@pytest.fixture
def model(tmp_path):
    """A saved ranker's file."""
    path = tmp_path / "model.rlm"
    make_ranker("solar-ii:gamma=10").fit(stream("short", seed=1)).save(path)
    return path


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


def test_damage_is_a_model_error_and_gives_no_other_model(model):
    """One bit changed: an error, or a place that does not matter (a date, for example)."""
    ranker, noticed = load(model), 0
    for damaged in flipped(model.read_bytes()):
        model.write_bytes(damaged)
        try:
            found = load(model)
        except ModelError:
            noticed += 1
            continue
        same(found, ranker)
        assert repr(found) == repr(ranker)
    assert noticed > 300


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
    ranker = load(model)
    rewritten(model)
    same(load(model), ranker)


CHANGES = [
    (changed(version=2), "written in format 2, but this version reads up to 1; upgrade rankloop"),
    (changed(format="sklearn"), "not a Rankloop file"),
    (lambda manifest: [manifest], "not a Rankloop file"),
    (lambda manifest: {"format": "rankloop", "version": 1}, "damaged"),
    (changed(arrays=["0" * 64] * 3), "does not match its checksum: the file is damaged"),
    (changed(content=[]), "does not describe a ranker"),
    (changed(content={}), "does not describe a ranker"),
    (changed_content(ranker="Perceptron9"), "'Perceptron9', which is not a known ranker"),
    (changed_content(ranker="os.system"), "which is not a known ranker"),
    (changed_content(params={"speed": 1}), "a SolarII has no parameter 'speed'"),
    (changed_content(params=3), "does not describe a ranker"),
    (changed_content(state=[1, 2]), "does not describe a ranker"),
    (changed_content(ranker=["Slam"]), "does not describe a ranker"),
]


@pytest.mark.parametrize(("change", "says"), CHANGES)
def test_strange_manifests(model, change, says):
    rewritten(model, change)
    with pytest.raises(ModelError, match=f"(?s){says}"):
        load(model)


STRANGER = [
    (changed(version="1"), "version"),
    (changed(version=True), "its version is True"),
    (changed(version=0), "its version is 0"),
    (changed_content(state={"predict": 3}), "n_features_in_ must be a whole number"),
    (changed_content(state={"n_features_in_": 7}), "has missing or unknown parts: directions_"),
    (changed_content(params={"gamma": {"$array": 0}}, state={}), "a parameter is an array"),
    (changed(arrays=[]), "array 0 is missing"),
    (changed(content={"a": {"$array": 0}, "b": {"$array": 0}}), "is used twice"),
    (changed(content={"a": {"$array": True}}), "array True is missing"),
    (changed(content="\ud800"), "surrogates not allowed"),
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
    with pytest.raises(ModelError, match="is not an array of plain numbers"):
        load(model)


def test_another_array_is_noticed(model):
    """A whole zip with an array of the right form but other numbers: only our checksum tells."""
    with zipfile.ZipFile(model) as archive_:
        first = np.load(io.BytesIO(archive_.read("0.npy")))
    stream_ = io.BytesIO()
    np.save(stream_, first + 1)
    rewritten(model, arrays={"0.npy": stream_.getvalue()})
    with pytest.raises(ModelError, match="array 0 does not match its checksum"):
        load(model)


# Made to exhaust memory or the stack


def packed(entries, method=zipfile.ZIP_DEFLATED):
    stream_ = io.BytesIO()
    with zipfile.ZipFile(stream_, "w", method) as archive_:
        for name, content in entries.items():
            archive_.writestr(name, content)
    return stream_.getvalue()


def npy(header, content=b""):
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def described(descr, shape, fortran=False):
    return f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n"


FRAME = json.dumps({"format": "rankloop", "version": 1, "arrays": ["x"], "content": {}})
SWOLLEN = "made to exhaust memory: .* bytes but claims to expand to"
HARMFUL = {
    "a manifest of 40 MB in 40 kB": ({"manifest.json": " " * (40 << 20) + FRAME}, SWOLLEN),
    "an array of 40 MB in 40 kB": ({"manifest.json": FRAME, "0.npy": bytes(40 << 20)}, SWOLLEN),
    "lists in lists": ({"manifest.json": "[" * 100_000}, "RecursionError"),
    "more levels than we write": (
        {"manifest.json": FRAME.replace("{}", "[" * 500 + "]" * 500).replace('"x"', "")},
        "more than 100 levels deep",
    ),
    "a shape of a terabyte": (
        {"manifest.json": FRAME, "0.npy": npy(described("<f8", "(137438953472,)"))},
        "claims float64 of shape",
    ),
    "a shape that overflows": (
        {"manifest.json": FRAME, "0.npy": npy(described("<f8", "(4294967296, 4294967296)"))},
        "claims float64 of shape",
    ),
    "a shape below 0": (
        {"manifest.json": FRAME, "0.npy": npy(described("<f8", "(-1,)"))},
        "damaged",
    ),
    "objects": (
        {"manifest.json": FRAME, "0.npy": npy(described("|O", "(1,)"), b"x" * 8)},
        "not an array of plain numbers",
    ),
    "columns first": (
        {"manifest.json": FRAME, "0.npy": npy(described("<f8", "(1, 1)", True), bytes(8))},
        "row-major",
    ),
    "a truth value of 7": (
        {"manifest.json": FRAME, "0.npy": npy(described("|b1", "(1,)"), b"\x07")},
        "neither 0 nor 1",
    ),
    "brackets": ({"manifest.json": FRAME, "0.npy": npy("(" * 9000)}, "an array is damaged"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", HARMFUL)
def test_harmful_files(what, tmp_path):
    entries, says = HARMFUL[what]
    (tmp_path / "harmful").write_bytes(packed(entries))
    with pytest.raises(ModelError, match=says):
        load(tmp_path / "harmful")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_pack_are_refused(method, tmp_path):
    (tmp_path / "a").write_bytes(packed({"manifest.json": FRAME}, method))
    with pytest.raises(ModelError, match="compressed with a method that model files do not use"):
        load(tmp_path / "a")


@pytest.mark.slow
def test_an_entry_that_is_longer_than_it_claims_is_not_unpacked(tmp_path):
    """The directory says 10 bytes; what is there would be 40 MB."""
    whole = bytearray(packed({"manifest.json": " " * (40 << 20)}))
    place = whole.index(b"PK\x01\x02") + 24
    whole[place : place + 4] = struct.pack("<I", 10)
    (tmp_path / "a").write_bytes(whole)
    with pytest.raises(ModelError, match="not a model file, or damaged"):
        load(tmp_path / "a")


def test_what_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="pipe: cannot read it: it is not a regular file"):
        load(tmp_path / "pipe")
    for path in ("/dev/zero", "/dev/null"):
        with pytest.raises(ModelError, match="it is not a regular file"):
            load(path)
    with pytest.raises(ModelError, match=r"null (byte|character)"):
        load("nul\0")


# What was learnt must be what such a ranker can have learnt


FEW = {"adarank", "rankboost", "frank", "single-feature", "constant", "imported"}
"""Rankers that know few of the features, and do not care how many there are."""


def refused(ranker, **values):
    """What the error says where parts of what was learnt, or parameters, are others."""
    tree = to_tree(ranker)
    for name, value in values.items():
        tree["state" if name.endswith("_") else "params"][name] = value
    with pytest.raises(ModelError) as caught:
        from_tree(tree)
    return str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(EVERY) - FEW))
def test_claims_of_many_features_are_refused(name):
    """25,000 features would be 5 GB of a second-order ranker's root, were it made first."""
    assert refused(make_ranker(name).fit(stream()), n_features_in_=25_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(name, bad):
    ranker = make_ranker(name).fit(stream())
    for part, value in ranker._state().items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
            poisoned = value.copy()
            poisoned.flat[-1] = bad
            assert f"{part} must be finite" in refused(ranker, **{part: poisoned})


WRONG = [
    ("prank", {"count_": np.array([65])}, "count_ must be finite int64 from 0 to 64"),
    ("prank", {"count_": np.array([-1])}, "count_ must be finite int64 from 0 to 64"),
    ("prank", {"room_": np.zeros(5)}, r"room_ must be .* of shape \(64\); found float64 of shape"),
    ("committee", {"streak_": np.array([-1])}, "streak_ must be"),
    ("committee", {"size": 10**12}, "members_ must be"),
    ("solar-ii", {"covariance": "diagonal"}, "root_ must be"),
    ("solar-ii", {"covariance": "none"}, "covariance must be one of full, low-rank, diagonal"),
    (
        "slam",
        {"n_queries_seen_": 10**400},
        "n_queries_seen_ must be a whole number .*; found a huge number",
    ),
    ("slam", {"n_queries_seen_": True}, "n_queries_seen_ must be a whole number"),
    ("slam", {"average": False}, "sum_ must be null"),
    ("minimax", {"average": True}, "sum_ must be finite float64"),
    ("slam", {"rate": 10**400}, "rate must be a number above 0"),
    ("slam", {"extra_": 1}, "the state of a Slam has missing or unknown parts: extra_"),
    ("kernel-slam", {"held_": 10_000}, "held_ is 10000, which"),
    ("kernel-slam", {"budget": 10**12}, "rows_ must be"),
    ("kernel-slam:budget=none", {"rows_": np.zeros((0, 7), np.float32)}, "differ in length"),
    ("kernel-slam", {"ledger_": np.zeros(3)}, "ledger_ records no step"),
    ("kernel-slam", {"kernel": "rbf(" * 300}, "cannot read"),
    ("keeprank", {"last_": np.zeros(1)}, "differ in length"),
    ("keeprank", {"kernel": 5}, "cannot read 5 as a kernel"),
    ("mix", {"losses_": np.zeros(2)}, "losses_ must be"),
    ("mix", {"members": [3]}, "members must be at least one ranker"),
    ("prepared", {"maps_": ["raw", "rank"]}, "ranker_ must be a ranker .* from 14 features"),
    ("prepared", {"maps_": [5]}, "maps_ must be a list"),
    ("prepared", {"maps": 5}, "maps must be a list"),
    (
        "prepared",
        {"scaler_": {"name": "standard", "centre": [1], "scale": [1]}},
        "is expecting 1 features",
    ),
    ("prepared", {"scaler_": {"name": ["standard"]}}, "there is no scaler"),
    ("prepared", {"maps_": ["square", "0*9"]}, "uses a feature that does not exist"),
    ("lifted", {"features_": {"text": "nystrom(rbf(1),9)", "random_state": 0}}, "is damaged"),
    (
        "lifted",
        {"features_": {"text": "nystrom(rbf(1),9)", "random_state": -1}},
        "random_state must",
    ),
    ("rankboost", {"features_": np.array([7])}, "features_ must be finite int64 from 0 to 6"),
    ("rankboost", {"alphas_": np.zeros(1)}, "differ in length"),
    ("adarank", {"features_": np.array([-1])}, "features_ must be finite int64 from 0 to 6"),
    ("coordinate-ascent", {"best_": np.array([5])}, "best_ is not one of the starts_"),
    ("single-feature", {"choice_": np.array([0, 5])}, "choice_ must be a feature and 1, 0 or -1"),
    ("single-feature", {"choice_": np.array([7, 1])}, "choice_ must be"),
    ("ranknet:hidden=3", {"hidden": 10**12}, "weights_ must be"),
    ("ranknet:hidden=3", {"hidden": "x"}, "hidden must be a whole number"),
    (
        "constant",
        {"feature_names_in_": ["a", 5]},
        "feature_names_in_ must be the names of 7 features",
    ),
]


@pytest.mark.matrix
@pytest.mark.parametrize(("name", "values", "says"), WRONG)
def test_parts_that_do_not_fit(name, values, says):
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(refused(make_ranker(name).fit(stream()), **values))


def test_members_that_are_no_rankers_or_have_learnt_nothing():
    mix, slam = make_ranker("mix").fit(stream()), to_tree(make_ranker("slam"))
    batch = to_tree(make_ranker("ranksvm").fit(stream()))
    for stranger in (slam, batch, 3):
        assert "members_ must be" in refused(mix, members_=[stranger] * 3)
    nested = slam
    for _ in range(30):
        nested = {"ranker": "Prepared", "params": {"ranker": nested}, "state": {}}
    with pytest.raises(ModelError, match="rankers inside rankers, more than 20 levels deep"):
        from_tree(nested)


# Trees


@pytest.fixture(scope="module")
def trees():
    """Trees of which some split by a category, that of odd numbers."""
    data = stream("many", seed=1)
    data.X[:, 3] = np.abs(np.round(data.X[:, 3] * 3))
    data.y[:] = data.X[:, 3] % 2
    return rl.LambdaMART(trees=3, leaves=6, categorical=[3], min_data_in_leaf=5).fit(data)


def edited(text, name, change, tree=0):
    """The text with one line of one tree changed, and the sizes made right."""
    head, *blocks = text.split("Tree=")
    lines = blocks[tree].split("\n")
    for i, line in enumerate(lines):
        if line.startswith(f"{name}="):
            lines[i] = f"{name}={change(line.partition('=')[2])}"
    blocks[tree] = "\n".join(lines)
    last, end, rest = blocks[-1].partition("end of trees")
    sizes = " ".join(str(len("Tree=" + block)) for block in [*blocks[:-1], last])
    before = [f"tree_sizes={sizes}" if "tree_sizes" in line else line for line in head.split("\n")]
    return "Tree=".join(["\n".join(before), *blocks[:-1], last]) + end + rest


def last_word(new):
    return lambda value: " ".join([*value.split(" ")[:-1], new])


BROKEN = [
    ("left_child", lambda value: "0 " + value.partition(" ")[2], "do not form a tree"),
    ("left_child", last_word("99"), "do not form a tree"),
    ("right_child", last_word("-99"), "do not form a tree"),
    ("right_child", last_word("1"), "do not form a tree"),
    ("split_feature", last_word("20"), "split_feature has a number that is not from 0 to 19"),
    ("split_feature", last_word("-1"), "split_feature has a number"),
    ("num_leaves", lambda _: "1000000", "numbers, not 999999"),
    ("num_leaves", lambda _: "0", "num_leaves has a number"),
    ("num_leaves", lambda _: "1_0", "num_leaves is missing or damaged"),
    ("leaf_value", last_word("nan"), "leaf_value is missing or damaged"),
    ("leaf_value", last_word("1e999"), "leaf_value has a number that is not finite"),
    ("leaf_value", lambda value: value + " 1", "leaf_value has 7 numbers, not 6"),
    ("threshold", last_word("nan"), "threshold is missing or damaged"),
    ("decision_type", last_word("99"), "decision_type has a number"),
    ("num_cat", lambda _: "2", "cat_boundaries has 2 numbers, not 3"),
    ("num_cat", lambda _: "-1", "num_cat has a number"),
    ("leaf_count", lambda value: value.partition(" ")[2], "leaf_count has 5 numbers, not 6"),
    ("is_linear", lambda _: "1", "leaf_const is missing"),
    ("shrinkage", lambda _: "", "shrinkage has 0 numbers, not 1"),
]


@pytest.mark.parametrize(("name", "change", "says"), BROKEN)
def test_trees_that_lightgbm_would_not_survive(trees, name, change, says):
    text = edited(trees.booster_, name, change)
    assert text != trees.booster_
    with pytest.raises(AssertionError, match=f"the trees are damaged: tree 0: .*{says}"):
        raise AssertionError(refused(trees, booster_=text))


def test_an_edit_that_changes_nothing_is_read(trees):
    text = edited(trees.booster_, "leaf_value", lambda value: value)
    assert text == trees.booster_
    tree = to_tree(trees)
    assert from_tree(tree).booster_ == text


def test_sets_of_categories_that_are_not_there(trees):
    blocks = trees.booster_.split("Tree=")[1:]
    number = next(k for k, block in enumerate(blocks) if "num_cat=0" not in block)
    for name, change in [
        ("cat_boundaries", last_word("99")),
        ("cat_boundaries", lambda value: value.replace("0 ", "5 ", 1)),
        ("cat_threshold", lambda value: value + " 1"),
        ("num_cat", lambda value: str(int(value) + 1)),
    ]:
        text = edited(trees.booster_, name, change, number)
        assert f"the trees are damaged: tree {number}" in refused(trees, booster_=text)


OTHER_LINES = [
    (
        ("tree_sizes=", "tree_sizes=9"),
        "is not the length given in the header|does not begin or end",
    ),
    (
        ("max_feature_idx=19", "max_feature_idx=5000000"),
        "the trees expect 5000001 features, not 20",
    ),
    (("num_class=1", "num_class=0"), "its header has the line 'num_class=0'"),
    (("num_class=1", "num_class=1\nnum_class=1"), "its header has the line 'num_class=1'"),
    (("num_tree_per_iteration=1\n", ""), "its header has no num_tree_per_iteration"),
    (
        ("objective=lambdarank", "objective=binary sigmoid:-1"),
        "its header has the line 'objective=",
    ),
    (("feature_infos=", "feature_infos=none "), "a wrong number of feature_infos"),
    (("end of trees", "end of tree"), "it does not end after its trees"),
    (("[boosting: gbdt]", "[boosting"), "its parameters are truncated or invalid"),
    (("end of parameters", "end"), "its parameters are truncated"),
    (("pandas_categorical:null", "pandas_categorical:[[["), "it has the line 'pandas_categorical"),
    (("\nparameters:", "\nparser:\nx\nend of parser\nparameters:"), "the line 'parser:'"),
    (("gbdt", "gb\0dt"), "bytes that are not text"),
    (("gbdt", "gb\rdt"), "bytes that are not text"),
]


@pytest.mark.parametrize(("change", "says"), OTHER_LINES)
def test_other_lines_of_trees(trees, change, says):
    text = trees.booster_.replace(*change, 1)
    assert text != trees.booster_
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(refused(trees, booster_=text))


def test_trees_that_are_cut_anywhere(trees):
    text = trees.booster_
    for length in range(1, len(text) - 30, 211):
        assert "the trees are damaged" in refused(trees, booster_=text[:length])


@pytest.mark.parametrize(
    "params",
    [{}, {"linear_tree": True}, {"boosting": "dart"}, {"max_depth": 2}, {"extra_trees": True}],
)
def test_all_that_lightgbm_writes_is_read(params, noisy):
    ranker = rl.XENDCGBoost(trees=5, increasing=[0], categorical=[4], params=params)
    data = noisy(80, d=5, seed=3)
    data.X[:, 4] = np.abs(np.round(data.X[:, 4] * 4))
    data.X[::7, 2] = np.nan
    again = from_tree(to_tree(ranker.fit(data)))
    assert np.array_equal(again.predict(data), ranker.predict(data))
