import pytest

import rankloop as rl
from rankloop.data.simulate import SIMULATORS


@pytest.mark.parametrize("kind", SIMULATORS)
def test_same_seed_same_bytes(ok, tmp_path, kind):
    one, same, other = (tmp_path / name for name in ("one.txt", "same.txt", "other.txt"))
    ok("simulate", kind, "-o", one, "-q", 5, "--seed", 3)
    ok("simulate", kind, "-o", same, "-q", 5, "--seed", 3)
    ok("simulate", kind, "-o", other, "-q", 5, "--seed", 4)
    assert one.read_bytes() == same.read_bytes()
    assert one.read_bytes() != other.read_bytes()
    assert rl.read_letor(one).n_queries == 5


def test_help_names_every_simulator(ok):
    text = ok("simulate", "--help").out
    assert all(kind in text for kind in SIMULATORS)


def test_parameters(ok, tmp_path):
    path = tmp_path / "data.parquet"
    options = ("-p", "n_documents=7", "-p", "n-features=3", "--param", "margin=0.5")
    outcome = ok("simulate", "separable", "-o", path, "-q", 4, *options, "--json")
    assert outcome.json == {
        "simulator": "separable",
        "file": str(path),
        "format": "parquet",
        "queries": 4,
        "documents": 28,
        "features": 3,
        "seed": 0,
    }
    data = rl.read_table(path)
    assert (data.n_queries, data.n_documents, data.n_features) == (4, 28, 3)


def test_says_what_it_made(ok, tmp_path):
    path = tmp_path / "data.txt.gz"
    outcome = ok("simulate", "predtron", "-o", path, "-q", 2)
    data = rl.read_letor(path)
    assert outcome.out == f"{path}: {data!r}\n"


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["nothing"], "unknown simulator 'nothing'; known: separable, predtron,"),
        (["separable", "-p", "weight=1"], "separable has no parameter 'weight'; it has n_docum"),
        (["separable", "-p", "margin"], "write a parameter as name=number; found 'margin'"),
        (["separable", "-p", "margin=wide"], "found 'margin=wide'"),
        (["separable", "-q", "0"], "--queries"),
        (["separable", "--seed", "-1"], "--seed"),
    ],
)
def test_usage(run, tmp_path, args, complaint):
    path = tmp_path / "data.txt"
    outcome = run("simulate", *args, "-o", path)
    assert outcome.code == 2
    assert complaint in outcome.complaint
    assert not path.exists()


@pytest.mark.parametrize(
    ("parameter", "complaint"),
    [("margin=-1", "margin above 0"), ("n_documents=2.5", "whole number"), ("n_grades=1", "2")],
)
def test_values_that_cannot_be(run, tmp_path, parameter, complaint):
    path = tmp_path / "data.txt"
    path.write_text("precious")
    outcome = run("simulate", "separable", "-o", path, "-p", parameter)
    assert outcome.code == 1
    assert outcome.err.startswith("error: ")
    assert complaint in outcome.err
    assert path.read_text() == "precious"
