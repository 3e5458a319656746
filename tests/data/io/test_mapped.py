"""Mapped data sets: what is written is read again; damage is an error, never a crash."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli.app import app
from rankloop.data.io.formats import read_batches, write_batches
from rankloop.data.io.mapped import read_mapped
from rankloop.data.io.mapped_write import write_mapped
from rankloop.data.joining import concat
from rankloop.data.mapped_parts import give_back, in_parts, is_mapped
from rankloop.data.simulate import mslr_like
from rankloop.exceptions import DataError, ParseError

FIELDS = ("X", "y", "offsets", "query_ids", "doc_ids", "sample_weight", "query_weight")


def some(n=12, seed=0, **more):
    data = mslr_like(n, np.random.default_rng(seed), n_features=5, mean_length=6).data
    return replace(data, **more)


def everything():
    data = some()
    n, q = data.n_documents, len(data)
    X = data.X.copy()
    X[3, 2] = np.nan
    return replace(
        data,
        X=X,
        query_ids=np.array([f"anfrage-ü{i}" for i in range(q)]),
        doc_ids=np.array([f"d{'x' * (i % 40)}{i}" for i in range(n)]),
        feature_names=tuple("abcde"),
        sample_weight=np.arange(n) / 2,
        query_weight=np.arange(q) / 4,
    )


def same(a, b):
    for name in FIELDS:
        ours, theirs = getattr(a, name), getattr(b, name)
        assert (ours is None) == (theirs is None), name
        if ours is not None:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
    assert a.feature_names == b.feature_names
    assert a.has_missing == b.has_missing


@pytest.mark.parametrize("make", [some, everything, lambda: some().select(slice(0, 0))])
def test_what_is_written_is_read_again(make, tmp_path):
    data = make()
    write_mapped(data, tmp_path / "a.rlds")
    found = read_mapped(tmp_path / "a.rlds", verify=True)
    same(found, data)
    assert is_mapped(found) or not len(data)
    assert not found.X.size or not found.X.flags.writeable


def test_batches_become_one_file(tmp_path):
    data = everything()
    write_mapped((data.select(slice(a, a + 5)) for a in range(0, 12, 5)), tmp_path / "a.rlds")
    same(read_mapped(tmp_path / "a.rlds", verify=True), data)


def test_numbers_and_texts_as_ids_of_batches_become_texts(tmp_path):
    later = some(seed=1, query_ids=np.array([f"q{i}" for i in range(12)]))
    write_mapped([some(), later], tmp_path / "a.rlds")
    found = read_mapped(tmp_path / "a.rlds")
    assert found.query_ids.tolist() == [*map(str, some().query_ids), *later.query_ids.tolist()]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (some(), "starts again"),
        (some(seed=1, sample_weight=np.ones(some(seed=1).n_documents)), "sample_weight"),
        (some(seed=1, feature_names=tuple("abcde")), "feature names"),
    ],
)
def test_data_sets_that_do_not_fit_leave_the_old_file(second, message, tmp_path):
    path = tmp_path / "a.rlds"
    path.write_bytes(b"old")
    with pytest.raises(DataError, match=message):
        write_mapped([some(), second], path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.rlds"]


def test_it_is_a_format_like_others(tmp_path):
    data = everything()
    write_batches([data], tmp_path / "a.parquet")
    write_batches(read_batches(tmp_path / "a.parquet"), tmp_path / "a.rlds")
    same(rl.read(tmp_path / "a.rlds"), data)
    same(concat(list(read_batches(tmp_path / "a.rlds"))), data)
    with pytest.raises(DataError, match=r"data\.rlds"):
        write_batches([data], tmp_path / "a.rlds.gz", format="rlds")


def test_convert_reads_one_file_after_the_other(tmp_path, monkeypatch):
    parts = [some(), some(seed=1)]
    parts[1] = replace(parts[1], query_ids=parts[1].query_ids + 1000)
    files = [str(tmp_path / f"{k}.parquet") for k in range(2)]
    for part, file in zip(parts, files, strict=True):
        write_batches([part], file)
    monkeypatch.setattr("rankloop.data.io.formats.read", None)  # it would read all at once
    done = CliRunner().invoke(app, ["convert", *files, str(tmp_path / "a.rlds")])
    assert done.exit_code == 0, done.output
    same(read_mapped(tmp_path / "a.rlds"), concat(parts))
    again = CliRunner().invoke(app, ["convert", files[0], files[0], str(tmp_path / "b.rlds")])
    assert "starts again" in again.output


def test_descriptions_of_columns_are_kept(tmp_path):
    table = pytest.importorskip("pyarrow").table(
        {"qid": [1, 1, 2], "label": [0, 1, 2], "shop": ["a", "b", "a"]}
    )
    data = rl.from_table(table)
    write_mapped(data, tmp_path / "a.rlds")
    assert read_mapped(tmp_path / "a.rlds").features == data.features


def test_only_the_header_is_read_beforehand(tmp_path):
    """A file of 64 GB, most of it a hole, opens at once."""
    path = tmp_path / "a.rlds"
    n = 2**24
    write_mapped(some(), path)
    raw = path.read_bytes()
    *_, at, length = struct.unpack("<8sIIQQ", raw[:32])
    header = json.loads(raw[at : at + length])
    header |= {"documents": n, "features": 1024, "queries": 0}
    header["arrays"]["X"] = {"type": "<f4", "shape": [n, 1024], "at": 4096, "crc32": 0}
    (tmp_path / "b.rlds").write_bytes(b"")
    rewrite(tmp_path / "b.rlds", raw[:at], header, at=4096 + n * 4096)
    with pytest.raises(ParseError, match="y is <f8"):  # but it has the grades of the small one
        read_mapped(tmp_path / "b.rlds")


def rewrite(path, body, header, at=None, version=1):
    """Write a file with another header, whose checksum is right."""
    text = json.dumps(header).encode()
    at = len(body) if at is None else at
    with path.open("wb") as out:
        out.write(body)
        out.seek(at)
        out.write(text)
        out.seek(0)
        out.write(struct.pack("<8sIIQQ", b"RLDATA\r\n", version, zlib.crc32(text), at, len(text)))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("mapped") / "a.rlds"
    write_mapped(everything(), path)
    raw = path.read_bytes()
    at = struct.unpack("<8sIIQQ", raw[:32])[3]
    return path, raw, raw[:at], json.loads(raw[at:])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: b"", "not a mapped data set"),
        (lambda raw: raw[:20], "not a mapped data set"),
        (lambda raw: b"PAR1" + raw[4:], "not a mapped data set"),
        (lambda raw: raw[:8] + b"\x03" + raw[9:], "version 3"),
        (lambda raw: raw[:-1], "damaged or incomplete: it has"),
        (lambda raw: raw[:5000], "damaged or incomplete: it has"),
        (lambda raw: raw + b"x", "damaged or incomplete: it has"),
        (lambda raw: raw[:-9] + b"?" + raw[-8:], "checksum"),
    ],
)
def test_damaged_files_are_named(written, change, message, tmp_path):
    path = tmp_path / "b.rlds"
    path.write_bytes(change(written[1]))
    with pytest.raises(ParseError, match=message) as raised:
        read_mapped(path)
    assert str(path) in str(raised.value)


def test_damaged_values_are_found_when_asked(written, tmp_path):
    raw = bytearray(written[1])
    raw[4100] ^= 1
    (tmp_path / "b.rlds").write_bytes(raw)
    read_mapped(tmp_path / "b.rlds")
    with pytest.raises(ParseError, match="X does not match its checksum"):
        read_mapped(tmp_path / "b.rlds", verify=True)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ParseError, match="No such file"):
        rl.read(tmp_path / "none.rlds", format="rlds")


WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(-1, 2**40), max_size=3),
)


@pytest.mark.slow
@given(st.data())
def test_a_wrong_header_is_an_error_or_harmless(written, data):
    """Whatever a header with a right checksum says, nothing outside the file is touched."""
    path, _, body, header = written
    header = json.loads(json.dumps(header))
    names = sorted(header["arrays"])
    where = data.draw(st.sampled_from([*sorted(header), *names]))
    if where in names:
        told = header["arrays"][where]
        told[data.draw(st.sampled_from(sorted(told)))] = data.draw(WRONG)
    else:
        header[where] = data.draw(WRONG)
    other = path.with_name("wrong.rlds")
    rewrite(other, body, header)
    try:
        found = read_mapped(other)
    except ParseError:
        return
    assert np.isfinite(found.y).all()
    float(np.nansum(found.X, dtype=np.float64))


def test_parts_are_whole_queries_in_order(written, monkeypatch):
    found = read_mapped(written[0])
    for size in (1, 100, 300, 10**9):
        parts = list(in_parts(found, size))
        same(concat(parts), found)
        assert all(is_mapped(part) for part in parts)
        assert all(part.X.nbytes <= size or len(part) == 1 for part in parts)
        order = np.random.default_rng(1).permutation(len(found))
        same(concat(list(in_parts(found, size, order=order))), found.select(order))
    assert len(list(in_parts(everything(), 1))) == 1  # in memory


def test_pages_that_were_given_back_are_read_again(written):
    found = read_mapped(written[0])
    before = np.array(found.X)
    for part in in_parts(found, 100):
        give_back(part)
    np.testing.assert_array_equal(found.X, before)


RANKERS = [
    rl.Slam(),
    rl.Slam(passes=2, random_state=1),
    rl.SolarI(random_state=3),
    rl.NewtonXENDCG(),
    rl.Auto(),
    rl.Prepared(rl.Slam(), "log"),
    rl.Mix([rl.Prepared(rl.Slam(), "standard"), rl.SolarI()]),
    rl.LambdaMART(trees=5),
]


@pytest.mark.slow
@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_rankers_learn_the_same_from_a_mapped_file(ranker, tmp_path, monkeypatch):
    data = some(40)
    write_mapped(data, tmp_path / "a.rlds")
    mapped = read_mapped(tmp_path / "a.rlds")
    small = lambda given, size=2000, order=None: in_parts(given, size, order)  # noqa: E731
    monkeypatch.setattr("rankloop.rankers.online.base.in_parts", small)
    assert len(list(small(mapped))) > 1
    one = ranker.copy().fit(data)
    other = ranker.copy().fit(mapped)
    assert one.digest() == other.digest()
    np.testing.assert_array_equal(one.predict(data), other.predict(mapped))
    if ranker.traits.is_online:
        scores = ranker.copy().predict_then_learn(mapped)
        np.testing.assert_array_equal(scores, ranker.copy().predict_then_learn(data))


LINEAR = [
    rl.XENDCG(C=3),
    rl.XENDCG(power=0.5),
    rl.ListNet(),
    rl.RankSVM(),
    rl.make_ranker("ranknet"),
    rl.make_ranker("loss-linear:loss=listnet"),
]


@pytest.mark.slow
@pytest.mark.parametrize("ranker", LINEAR, ids=repr)
def test_linear_rankers_find_the_same_optimum_over_parts(ranker, tmp_path, monkeypatch):
    data = some(60)
    write_mapped(data, tmp_path / "a.rlds")
    mapped = read_mapped(tmp_path / "a.rlds")
    small = lambda given: in_parts(given, 2000)  # noqa: E731
    monkeypatch.setattr("rankloop.rankers.batch.linear.in_parts", small)
    one = ranker.copy().set_params(tolerance=1e-12).fit(data)
    other = ranker.copy().set_params(tolerance=1e-12).fit(mapped)
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-5, atol=1e-7)
    assert other.n_queries_seen_ == 60
    again = ranker.copy().set_params(tolerance=1e-12).fit(mapped)
    assert other.digest() == again.digest()


def test_mapped_features_are_not_counted_as_memory(written):
    """Dask asks for the size of what a worker holds."""
    found = read_mapped(written[0])
    rest = found.nbytes - found.X.nbytes
    assert sys.getsizeof(found) < rest + 100 < sys.getsizeof(everything())
