from math import log2

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.io.scores import write_scores

NDCG_7 = (1 + 3 / log2(4)) / (3 + 1 / log2(3))  # ranked 1, 0, 2
NDCG_3 = 1 / log2(3)  # ranked 0, 1


def means(outcome):
    return {(row["measure"], row["convention"]): row["mean"] for row in outcome.json}


def test_scores_follow_the_rows_of_a_file_whose_queries_are_jumbled(ok, jumbled, scores):
    assert ok("evaluate", jumbled, "--scores", scores, "--json").json == [
        {
            "measure": "nDCG@10",
            "convention": "standard",
            "mean": pytest.approx((NDCG_7 + NDCG_3) / 2, rel=1e-12),
            "queries": 2,
            "left_out": 0,
        }
    ]


def test_table(ok, jumbled, scores):
    cells = ok("evaluate", jumbled, "--scores", scores, "-m", "nDCG@10", "-m", "p@1").cells
    assert cells == [
        ["measure", "convention", "mean", "queries", "left", "out"],
        ["nDCG@10", "standard", f"{(NDCG_7 + NDCG_3) / 2:.4f}", "2", "0"],
        ["P@1", "standard", "0.5000", "2", "0"],
    ]


def test_per_query(ok, jumbled, scores):
    asked = ("evaluate", jumbled, "--scores", scores, "--per-query")
    (row,) = ok(*asked, "--json").json
    assert row["per_query"] == [
        {"query": 7, "value": pytest.approx(NDCG_7)},
        {"query": 3, "value": pytest.approx(NDCG_3)},
    ]
    cells = ok(*asked).cells
    assert ["7", f"{NDCG_7:.4f}"] in cells
    assert ["3", f"{NDCG_3:.4f}"] in cells


def test_a_query_left_out_is_counted_and_has_no_value(ok, tmp_path):
    data, scores = tmp_path / "data.txt", tmp_path / "scores.txt"
    data.write_text("1 qid:a 1:1\n0 qid:a 1:1\n0 qid:b 1:1\n")
    scores.write_text("2\n1\n3\n")
    asked = ("evaluate", data, "--scores", scores, "--json", "--per-query")
    standard, letor = ok(*asked, "-c", "standard", "-c", "letor3").json
    assert (standard["mean"], standard["queries"], standard["left_out"]) == (1.0, 1, 1)
    assert standard["per_query"][1] == {"query": "b", "value": None}
    assert (letor["mean"], letor["queries"], letor["left_out"]) == (0.5, 2, 0)
    assert letor["per_query"][1] == {"query": "b", "value": 0.0}


def test_no_query_left_has_no_mean(ok, tmp_path):
    data, scores = tmp_path / "data.txt", tmp_path / "scores.txt"
    data.write_text("0 qid:1 1:1\n")
    scores.write_text("1\n")
    (row,) = ok("evaluate", data, "--scores", scores, "--json").json
    assert (row["mean"], row["queries"], row["left_out"]) == (None, 0, 1)


MEASURES = ["nDCG@10", "nDCG", "AP(rel=2)", "P@5", "R@5", "RR", "ERR(max=2)@10", "RBP(p=0.5)"]
CONVENTIONS = ["standard", "letor3", "letor4", "mslr", "trec_eval", "lightgbm", "xgboost"]


def repeated(option, values):
    return [word for value in values for word in (option, value)]


def test_values_are_those_of_the_library(ok, data_dir, tmp_path):
    files = sorted((data_dir / "MQ2008").glob("S*.txt.xz"))[:2]
    if not files:
        pytest.skip("MQ2008 is not among the real data")
    data = rl.read_letor(*files)
    scores = np.round(data.X @ np.linspace(-1, 1, data.n_features), 2)  # some are tied
    path = tmp_path / "scores.txt"
    write_scores(path, data.in_row_order(scores))
    options = [*repeated("-m", MEASURES), *repeated("-c", CONVENTIONS)]
    found = means(ok("evaluate", *files, "--scores", path, "--json", *options))
    assert list(found) == [(measure, name) for name in CONVENTIONS for measure in MEASURES]
    for name in CONVENTIONS:
        evaluated = rl.evaluate(data, scores, MEASURES, name)
        for measure in MEASURES:
            assert found[measure, name] == evaluated[measure]
    assert len({round(found["nDCG@10", name], 6) for name in CONVENTIONS}) >= 5


@pytest.fixture
def judged(tmp_path):
    path = tmp_path / "judged.qrels"
    path.write_text("q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq3 0 a 1\n")
    return path


@pytest.fixture
def ranking(tmp_path):
    """Ranks q1: c, x (unjudged), a; b not retrieved. q2 as it should be; no q3; q4 not judged."""
    path = tmp_path / "system.run"
    lines = ["q1 Q0 a 9 1 t", "q1 Q0 c 9 3 t", "q1 Q0 x 9 2 t", "q2 Q0 a 1 1 t", "q4 Q0 a 1 1 t"]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_run_and_qrels(ok, judged, ranking):
    asked = ("evaluate", judged, "--run", ranking, "-m", "AP", "-m", "nDCG@10", "-c", "trec_eval")
    found = means(ok(*asked, "--json"))
    assert found["AP", "trec_eval"] == pytest.approx(((1 + 2 / 3) / 2 + 1 + 0) / 3)
    ndcg = (1 + 2 / log2(4)) / (2 + 1 / log2(3))
    assert found["nDCG@10", "trec_eval"] == pytest.approx((ndcg + 1 + 0) / 3)
    notes = ok(*asked).out.splitlines()[-2:]
    assert notes[0].startswith("1 ")
    assert notes[0].endswith("judged but not in the run, and score 0")
    assert notes[1].startswith("1 ")
    assert notes[1].endswith("of the run are not judged, and were left out")


def test_run_and_letor_data(ok, jumbled, scores, tmp_path):
    """Documents of a run are found by the ids of the data's comments."""
    run = tmp_path / "system.run"
    words = zip("73737", "abcde", scores.read_text().split(), strict=True)
    run.write_text("".join(f"{query} Q0 {doc} 1 {score} tag\n" for query, doc, score in words))
    asked = ("evaluate", jumbled, "-m", "nDCG@10", "-m", "AP", "-c", "trec_eval", "--json")
    assert ok(*asked, "--run", run).json == ok(*asked, "--scores", scores).json


def test_qrels_and_scores_in_row_order(ok, judged, tmp_path):
    scores = tmp_path / "scores.txt"
    scores.write_text("1\n2\n3\n1\n1\n")
    (row,) = ok("evaluate", judged, "--scores", scores, "-m", "RR(rel=2)", "--json").json
    assert (row["mean"], row["left_out"]) == (pytest.approx(1 / 3), 2)


def test_tables_are_read_as_well(ok, jumbled, scores, tmp_path):
    table = tmp_path / "jumbled.parquet"
    ok("convert", jumbled, table)
    text = ok("evaluate", jumbled, "--scores", scores, "--json").json
    assert ok("evaluate", table, "--scores", scores, "--json").json == text


def test_explain_leads_from_one_convention_to_each_other(ok, simulated, tmp_path):
    data = rl.read_letor(simulated)
    path = tmp_path / "scores.txt"
    write_scores(path, np.floor(data.X[:, 4].astype(float)))
    asked = ("evaluate", simulated, "--scores", path, "--explain", "-m", "nDCG@20", "-m", "P@5")
    rows = ok(*asked, "--json", "-c", "letor3").json
    assert {row["measure"] for row in rows} == {"nDCG@20", "P@5"}
    for measure in ("nDCG@20", "P@5"):
        mine = [row for row in rows if row["measure"] == measure]
        assert mine[0]["convention"] == "letor3"
        assert {row["convention"] for row in mine} == rl.CONVENTIONS.keys()
        for row in mine:
            if row["mean"] is None:
                assert row["convention"] == "trec_eval"
                assert "document id" in row["reason"]
                continue
            by_hand = rl.evaluate(data, np.floor(data.X[:, 4]), measure, row["convention"])
            assert row["mean"] == by_hand[measure]
            steps = sum(step["change"] for step in row["steps"])
            assert mine[0]["mean"] + steps == pytest.approx(row["mean"], rel=1e-12)
    letor4 = next(r for r in rows if (r["measure"], r["convention"]) == ("nDCG@20", "letor4"))
    (step,) = letor4["steps"]
    assert step["setting"] == "short_lists"
    assert step["change"] < 0
    shown = f"{step['change']:+.4f}  nDCG@k of a list shorter than k is 0"
    assert shown in ok(*asked, "-c", "letor3").out


def test_bad_rows_may_be_left_out(ok, run, tmp_path):
    data, scores = tmp_path / "data.txt", tmp_path / "scores.txt"
    data.write_text("1 qid:1 1:1\nx qid:1 1:1\n0 qid:1 1:1\n")
    scores.write_text("2\n1\n")
    assert run("evaluate", data, "--scores", scores).code == 1
    outcome = ok("evaluate", data, "--scores", scores, "--skip-bad-rows", "--json")
    assert outcome.json[0]["mean"] == 1.0
    assert "line 2" in outcome.err
