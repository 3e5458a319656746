"""Mapped data sets with sparse rows: the same data and models, in memory of a part."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli.app import app
from rankloop.data.io.formats import read_batches
from rankloop.data.io.mapped import read_mapped
from rankloop.data.io.mapped_write import write_mapped
from rankloop.data.joining import concat
from rankloop.data.mapped_parts import give_back, in_parts, is_mapped
from rankloop.exceptions import DataError, ParseError

from .test_mapped import WRONG, everything, rewrite, same, some


def sparse():
    return everything().to_sparse()


def same_sparse(found, data):
    assert found.is_sparse
    assert found.X.nnz == data.X.nnz
    same(found.to_dense(), data.to_dense())


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("mapped") / "a.rlds"
    write_mapped((sparse().select(slice(a, a + 5)) for a in range(0, 12, 5)), path)
    return path


def test_what_is_written_is_read_again(written, tmp_path):
    found = read_mapped(written, verify=True)
    same_sparse(found, sparse())
    assert is_mapped(found)
    same_sparse(concat(list(read_batches(written))), sparse())
    nothing = sparse().select(slice(0, 0))
    write_mapped(nothing, tmp_path / "b.rlds")
    same_sparse(read_mapped(tmp_path / "b.rlds", verify=True), nothing)


def test_dense_and_sparse_rows_are_not_one_file(tmp_path):
    with pytest.raises(DataError, match="dense or sparse"):
        write_mapped([some(), some(seed=1).to_sparse()], tmp_path / "a.rlds")


def test_parts_are_whole_queries_in_order(written):
    found = read_mapped(written)
    for size in (1, 300, 10**9):
        parts = list(in_parts(found, size))
        same_sparse(concat(parts), sparse())
        assert all(is_mapped(part) for part in parts)
        assert all(part.X.nbytes <= size + 8 or len(part) == 1 for part in parts)
        for part in parts:
            give_back(part)
    assert len(list(in_parts(found, 300))) > 1
    same_sparse(found, sparse())


@pytest.mark.parametrize(
    "ranker", [rl.Slam(), rl.SolarI(random_state=3), rl.SolarII(covariance="diagonal")], ids=repr
)
def test_online_rankers_learn_the_same(ranker, tmp_path, monkeypatch):
    data = some(40).to_sparse()
    write_mapped(data, tmp_path / "a.rlds")
    mapped = read_mapped(tmp_path / "a.rlds")
    small = lambda given, size=2000, order=None: in_parts(given, size, order)  # noqa: E731
    monkeypatch.setattr("rankloop.rankers.online.base.in_parts", small)
    assert len(list(small(mapped))) > 1
    assert ranker.copy().fit(mapped).digest() == ranker.copy().fit(data).digest()


def test_linear_batch_rankers_find_the_same_optimum(tmp_path, monkeypatch):
    data = some(40).to_sparse()
    write_mapped(data, tmp_path / "a.rlds")
    small = lambda given: in_parts(given, 2000)  # noqa: E731
    monkeypatch.setattr("rankloop.rankers.batch.linear.in_parts", small)
    found = rl.XENDCG().fit(read_mapped(tmp_path / "a.rlds"))
    np.testing.assert_allclose(found.weights_, rl.XENDCG().fit(data).weights_, rtol=1e-4)


@given(st.data())
def test_a_wrong_header_is_an_error_or_harmless(written, data):
    raw = written.read_bytes()
    at = struct.unpack("<8sIIQQ", raw[:32])[3]
    header = json.loads(raw[at:])
    where = data.draw(
        st.sampled_from(["features", "documents", "X.values", "X.columns", "X.starts"])
    )
    if where in header:
        header[where] = data.draw(WRONG)
    else:
        told = header["arrays"][where]
        told[data.draw(st.sampled_from(sorted(told)))] = data.draw(WRONG)
    other = written.with_name("wrong.rlds")
    rewrite(other, raw[:at], header, version=2)
    try:
        found = read_mapped(other)
    except ParseError:
        return
    assert found.X[: len(found.X)].nnz == len(found.X.values)


@pytest.mark.parametrize(("array", "value"), [("X.columns", 99), ("X.starts", 2**40)])
def test_damaged_rows_are_found_when_the_file_is_opened(array, value, written, tmp_path):
    raw = bytearray(written.read_bytes())
    told = json.loads(raw[struct.unpack("<8sIIQQ", raw[:32])[3] :])["arrays"][array]
    size = np.dtype(told["type"]).itemsize
    raw[told["at"] + size : told["at"] + 2 * size] = value.to_bytes(size, "little")
    (tmp_path / "b.rlds").write_bytes(raw)
    with pytest.raises(ParseError, match="damaged or incomplete"):
        read_mapped(tmp_path / "b.rlds")


def test_convert(tmp_path):
    text, mapped = tmp_path / "a.txt", tmp_path / "a.rlds"
    text.write_text("2 qid:1 900000:0.5\n0 qid:1 3:0.25\n1 qid:2 7:1\n0 qid:2 900000:2\n")
    done = CliRunner().invoke(app, ["convert", "--sparse", str(text), str(mapped)])
    assert done.exit_code == 0, done.output
    found = rl.read(mapped)
    assert (found.X.nnz, found.n_features) == (4, 900_000)
    assert found.X == rl.read_letor(text, sparse=True).X
    assert mapped.stat().st_size < 10_000
