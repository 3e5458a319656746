import numpy as np
import pytest

import rankloop as rl
from rankloop.data.io.scores import write_scores

KEYS = [
    "measure",
    "convention",
    "test",
    "system",
    "baseline",
    "mean_system",
    "mean_baseline",
    "difference",
    "relative",
    "effect_size",
    "wins",
    "ties",
    "losses",
    "queries",
    "p_value",
    "p_adjusted",
    "ci_low",
    "ci_high",
    "significant",
]


@pytest.fixture
def systems(simulated, tmp_path, rng):
    """Three rankings of the simulated data: by its best feature, by another, at random."""
    data = rl.read_letor(simulated)
    columns = {
        "good": data.X[:, 0].astype(float),
        "other": data.X[:, 1].astype(float),
        "random": rng.random(data.n_documents),
    }
    for name, scores in columns.items():
        write_scores(tmp_path / f"{name}.txt", scores)
    return data, columns


def test_json_is_what_the_library_says(ok, simulated, systems, tmp_path):
    data, columns = systems
    files = [word for name in columns for word in ("--scores", tmp_path / f"{name}.txt")]
    asked = ("-m", "nDCG@10", "-m", "AP", "-c", "letor3", "--test", "paired_t", "--seed", 5)
    rows = ok("compare-runs", simulated, *files, *asked, "--json").json
    assert len(rows) == 2 * 3
    assert all(list(row) == KEYS for row in rows)
    assert [(r["system"], r["baseline"]) for r in rows[:3]] == [
        ("other", "good"),
        ("random", "good"),
        ("random", "other"),
    ]
    for i, measure in enumerate(["nDCG@10", "AP"]):
        values = {
            name: rl.evaluate(data, scores, measure, "letor3").results[0].values
            for name, scores in columns.items()
        }
        head = {"measure": measure, "convention": "letor3", "test": "paired_t"}
        expected = rl.compare_runs(values, test="paired_t", seed=5).to_dicts()
        assert rows[3 * i : 3 * i + 3] == [{**head, **row} for row in expected]
    assert rows[1]["difference"] < 0
    assert rows[1]["significant"]


def test_baseline_and_names(ok, simulated, systems, tmp_path):
    data, columns = systems
    run = tmp_path / "good.run"
    rl.data.write_run(rl.data.run_from_scores(data, columns["good"]), run)
    rows = ok(
        *("compare-runs", simulated, "--run", f"as run={run}"),
        *("--scores", f"chance={tmp_path / 'random.txt'}", "--scores", tmp_path / "good.txt"),
        *("--baseline", "good", "--json"),
    ).json
    assert [(row["system"], row["baseline"]) for row in rows] == [
        ("chance", "good"),
        ("as run", "good"),
    ]
    assert rows[0]["losses"] > rows[0]["wins"]
    assert rows[1]["ties"] == rows[1]["queries"] > 30
    assert (rows[1]["difference"], rows[1]["p_value"]) == (0.0, 1.0)


def test_same_seed_same_answer(ok, simulated, systems, tmp_path):
    files = ("--scores", tmp_path / "good.txt", "--scores", tmp_path / "other.txt")

    def interval(seed):
        (row,) = ok("compare-runs", simulated, *files, "--seed", seed, "--json").json
        return row["ci_low"], row["ci_high"]

    assert interval(1) == interval(1)
    assert interval(1) != interval(2)


def test_table(ok, simulated, systems, tmp_path):
    files = ("--scores", tmp_path / "good.txt", "--scores", tmp_path / "random.txt")
    outcome = ok("compare-runs", simulated, *files, "-m", "AP", "--test", "wilcoxon")
    title, _, row = outcome.cells
    assert title == ["AP", "(standard),", "wilcoxon", "test"]
    assert [row[0], row[2]] == ["random", "good"]
    assert row[4].startswith("-0.")
    assert row[4].endswith("*")


def test_the_interval_is_named_after_the_level(ok, simulated, systems, tmp_path):
    files = ("--scores", tmp_path / "good.txt", "--scores", tmp_path / "random.txt")
    assert "95% interval" in ok("compare-runs", simulated, *files).out
    shown = ok("compare-runs", simulated, *files, "--level", "0.2").out
    assert "80% interval" in shown
    assert "95% interval" not in shown


def test_queries_are_matched_by_id(ok, tmp_path):
    """Scores and a run of the same ranking are the same, whatever is unjudged and jumbled."""
    data, scores, run = (tmp_path / name for name in ("data.txt", "scores.txt", "system.run"))
    data.write_text(
        "-1 qid:1 1:1 #docid = a\n2 qid:2 1:1 #docid = a\n1 qid:1 1:1 #docid = b\n"
        "0 qid:2 1:1 #docid = b\n0 qid:1 1:1 #docid = c\n"
    )
    scores.write_text("5\n4\n3\n2\n1\n")
    run.write_text("1 Q0 a 1 5 t\n1 Q0 b 2 3 t\n1 Q0 c 3 1 t\n2 Q0 a 1 4 t\n2 Q0 b 2 2 t\n")
    asked = ("compare-runs", data, "-m", "RR", "--json")
    (row,) = ok(*asked, "--scores", f"s={scores}", "--run", f"r={run}").json
    assert (row["wins"], row["ties"], row["losses"]) == (0, 2, 0)


def test_usage(run, simulated, systems, tmp_path):
    good = tmp_path / "good.txt"
    outcome = run("compare-runs", simulated, "--scores", good, "--scores", good)
    assert outcome.code == 2
    assert "two rankings are called 'good'; write NAME=FILE" in outcome.complaint


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "at least 2 systems; found 1"),
        (["--scores", "again={good}", "--baseline", "best"], "unknown baseline 'best'; known"),
        (["--scores", "again={good}", "--test", "sign"], "unknown test 'sign'; known tests: rand"),
        (["--scores", "again={good}", "--level", "2"], "level must lie between 0 and 1"),
        (["--scores", "again={good}", "-m", "best"], "unknown measure 'best'; known: DCG"),
        (["--scores", "again={good}", "-c", "best"], "unknown convention 'best'; known: standard"),
        (["--run", "{good}"], "two rankings"),
    ],
)
def test_errors(run, simulated, systems, tmp_path, options, complaint):
    good = str(tmp_path / "good.txt")
    outcome = run(
        "compare-runs", simulated, "--scores", good, *(o.format(good=good) for o in options)
    )
    assert outcome.code == (1 if complaint.startswith("at least") else 2)
    assert complaint in outcome.complaint


def test_real_data(ok, data_dir, tmp_path):
    path = data_dir / "OHSUMED" / "S1.txt.xz"
    if not path.is_file():
        pytest.skip("OHSUMED is not among the real data")
    data = rl.read_letor(path)
    for column in (0, 10):
        write_scores(tmp_path / f"{column}.txt", data.in_row_order(data.X[:, column].astype(float)))
    files = ("--scores", tmp_path / "0.txt", "--scores", tmp_path / "10.txt")
    (row,) = ok("compare-runs", path, *files, "--json").json
    values = [
        rl.evaluate(data, data.X[:, column], "nDCG@10").results[0].values for column in (10, 0)
    ]
    assert row["difference"] == pytest.approx(np.nanmean(values[0] - values[1]), rel=1e-9)
    assert row["queries"] == len(data) - np.isnan(values[0]).sum()
