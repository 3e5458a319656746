"""`rankloop split`: whole queries, in files that other commands read."""

import pytest

import rankloop as rl

ROWS = "".join(
    f"{grade} qid:{query} 1:{query} 2:{grade}\n" for query in range(10) for grade in (0, 1)
)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(ROWS)
    return path


def parts(folder, *names):
    return [rl.read(folder / name) for name in names]


def test_every_query_is_in_one_part(ok, data, tmp_path):
    out = ok("split", data, "-o", tmp_path / "parts").out
    assert "train.txt: QueryDataset(6 queries, 12 documents, 2 features" in out
    found = parts(tmp_path / "parts", "train.txt", "vali.txt", "test.txt")
    assert [len(part) for part in found] == [6, 2, 2]
    assert sorted(rl.data.concat(found).query_ids.tolist()) == list(range(10))
    assert all((part.X[:, 0] == part.qid).all() for part in found)
    ok("compare", tmp_path / "parts", "-r", "solar-i")


def test_the_seed_decides_and_order_needs_none(ok, data, tmp_path):
    drawn = {}
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        ok("split", data, "-o", tmp_path / name, "--seed", seed)
        drawn[name] = (tmp_path / name / "train.txt").read_text()
    assert drawn["a"] == drawn["b"] != drawn["c"]
    ok("split", data, "-o", tmp_path / "time", "--in-order", "--fractions", "0.8,0.2")
    train, test = parts(tmp_path / "time", "train.txt", "test.txt")
    assert (train.query_ids.tolist(), test.query_ids.tolist()) == ([*range(8)], [8, 9])


@pytest.mark.parametrize("kind", ["parquet", "csv", "rlds"])
def test_formats(ok, data, tmp_path, kind):
    answer = ok(
        "split", data, "-o", tmp_path, "--to", kind, "--fractions", "0.5,0.5", "--json"
    ).json
    assert answer[str(tmp_path / f"test.{kind}")] == {"queries": 5}
    assert rl.read(tmp_path / f"train.{kind}").n_documents == 10


@pytest.mark.parametrize(
    ("fractions", "said"),
    [
        ("1", "two or three numbers"),
        ("a,b", "two or three numbers"),
        ("0.5,0.6", "add up to 1"),
        ("0.5,0,0.5", "above 0"),
    ],
)
def test_bad_fractions(run, data, tmp_path, fractions, said):
    outcome = run("split", data, "-o", tmp_path / "parts", "--fractions", fractions)
    assert outcome.code != 0
    assert said in outcome.err
    assert not (tmp_path / "parts").exists()
