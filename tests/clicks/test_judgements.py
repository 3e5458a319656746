"""Judgements and summaries of logs, logs made and written, models and estimators by name."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankloop.clicks.bias.registry import make_bias_estimator
from rankloop.clicks.judgements import judge_clicks, write_judgements
from rankloop.clicks.log.log import ClickLog
from rankloop.clicks.log.reading import read_click_rows, read_clicks
from rankloop.clicks.log.simulate import simulate_log, write_click_table
from rankloop.clicks.log.summary import summarise_log
from rankloop.clicks.models.evaluation import fit_models
from rankloop.clicks.models.registry import CLICK_MODELS, make_click_model
from rankloop.clicks.offpolicy.registry import compare_policies, examination_of
from rankloop.clicks.users import cascade_user, make_user, ultra_user, user_for
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError, ParseError

PAGES = [("q", ["a", "b"], ["a"]), ("q", ["b", "a"], []), ("r", ["c", "a"], ["a", "c"])]


@pytest.fixture
def log() -> ClickLog:
    return ClickLog.from_pages(PAGES)


@pytest.fixture
def simulated(rng) -> ClickLog:
    data = separable(40, np.random.default_rng(0), n_grades=3).data
    return simulate_log(data, data.X[:, 0], make_user("informational"), rng, noise=0.5)


def test_clicks_over_expected_clicks(log):
    found = judge_clicks(log)
    by_pair = dict(
        zip(zip(found.queries, found.documents, strict=True), found.ratings, strict=True)
    )
    first, second = 2 / 3, 1 / 3  # click rates of the two positions
    assert by_pair["q", "a"] == pytest.approx(1 / (first + second))
    assert by_pair["q", "b"] == 0
    assert by_pair["r", "c"] == pytest.approx(1 / first)
    assert by_pair["r", "a"] == pytest.approx(1 / second)
    assert len(judge_clicks(log, least_views=2)) == 2


def test_counts_are_views(log):
    often = judge_clicks(log.with_counts([10, 1, 1]))
    assert often.views.tolist() == [11, 11, 1, 1]


def test_attraction_of_a_model_is_a_rating(simulated):
    found = judge_clicks(simulated, "pbm")
    model = make_click_model("pbm").fit(simulated)
    for i in (0, 7, 100):
        expected = model.attraction.get(found.queries[i].item(), found.documents[i].item())
        assert found.ratings[i] == expected
    with pytest.raises(DataError, match="does not estimate single documents"):
        judge_clicks(simulated, "rank-ctr")


def test_grades_are_whole(log):
    found = judge_clicks(log).to_grades(4)
    assert found.ratings.tolist() == [1, 0, 3, 2]
    with pytest.raises(DataError, match="at least 2 grades"):
        found.to_grades(1)


def test_files_of_judgements(log, tmp_path):
    found = judge_clicks(log)
    write_judgements(found, tmp_path / "j.csv")
    lines = (tmp_path / "j.csv").read_text().splitlines()
    assert lines[:2] == ["query,docid,rating", "q,a,1.0"]
    write_judgements(found, tmp_path / "j.json")
    body = json.loads((tmp_path / "j.json").read_text())
    assert body["type"] == "IMPORT_JUDGMENT"
    assert body["judgmentRatings"][0] == {
        "query": "q",
        "ratings": [{"docId": "a", "rating": "1"}, {"docId": "b", "rating": "0"}],
    }
    with pytest.raises(DataError, match=r"\.csv or \.json"):
        write_judgements(found, tmp_path / "j.txt")


def test_a_summary_counts_and_warns(log):
    found = summarise_log(log.with_counts([2, 1, 1]))
    assert (found.pages, found.queries, found.documents, found.shown) == (4, 2, 3, 8)
    assert found.clicks == 2 + 2
    assert found.clicked_pages == 3 / 4
    assert found.positions == (1, 2)
    assert found.click_rates == (3 / 4, 1 / 4)
    assert found.moved == 2 / 4
    still = summarise_log(ClickLog.from_pages([("q", ["a", "b"], [])]))
    assert len(still.notes) == 2
    assert "position bias cannot be separated" in still.notes[0]


def test_simulated_logs_go_through_files(simulated, tmp_path):
    for name in ("log.csv", "log.parquet"):
        write_click_table(simulated, tmp_path / name)
        again = read_clicks([tmp_path / name])
        assert np.array_equal(again.clicks, simulated.clicks)
        assert np.array_equal(again.positions, simulated.positions)
        assert again.document_ids[again.documents].tolist() == (
            simulated.document_ids[simulated.documents].tolist()
        )
        values = read_click_rows([tmp_path / name]).values("position")
        assert values.tolist() == simulated.positions.tolist()
    with pytest.raises(ParseError, match="there is no column 'score'"):
        read_click_rows([tmp_path / "log.csv"]).values("score")
    with pytest.raises(DataError, match=r"\.csv or \.parquet"):
        write_click_table(simulated, tmp_path / "log.txt")


def test_noise_moves_documents(rng):
    data = separable(20, np.random.default_rng(0), n_grades=3).data
    user = make_user("perfect")
    moved = [
        summarise_log(simulate_log(data, data.X[:, 0], user, rng, noise=noise)).moved
        for noise in (0.0, 0.1, 2.0)
    ]
    assert moved[0] == 0
    assert moved[0] < moved[1] < moved[2]
    with pytest.raises(DataError, match="noise must be at least 0"):
        simulate_log(data, None, user, rng, noise=-1)


def test_files_tell_their_format(tmp_path):
    for name in ("log.bin", "log.csv", "log.txt"):
        (tmp_path / name).write_text("q\ta,b : a;\n" if name == "log.txt" else "prose\n")
    with pytest.raises(DataError, match="cannot tell the format of log"):
        read_clicks([tmp_path / "log.bin"])
    with pytest.raises(DataError, match="unknown format 'xml'"):
        read_clicks([tmp_path / "log.csv"], "xml")
    with pytest.raises(DataError, match="the format is yandex"):
        read_clicks([tmp_path / "log.txt"], columns={"query": "q"})


def test_every_model_is_fitted_and_judged(simulated):
    found = {one.name: one for one in fit_models(list(CLICK_MODELS), simulated)}
    assert found["ubm"].scores.log_likelihood > found["global-ctr"].scores.log_likelihood
    assert len(found["pbm"].parameters["examination"]) == 10
    assert json.dumps([one.to_dict() for one in found.values()])
    with pytest.raises(DataError, match="unknown click model 'bpm'"):
        fit_models(["bpm"], simulated)
    with pytest.raises(DataError, match="no page of the test log has a query"):
        fit_models(["pbm"], simulated, ClickLog.from_pages([("other", ["a"], [])]))


def test_policies_are_compared_by_name(simulated):
    examination = examination_of("all-pairs", simulated, 10)
    assert len(examination.slopes) == 10
    found = compare_policies(
        simulated, -simulated.positions, examination, ("ips", "dr"), least_size=1
    )
    same = [row for row in found if row["of"] == "difference"]
    assert [row["value"] for row in same] == [0.0, 0.0]
    with pytest.raises(DataError, match="unknown estimator 'ops'"):
        compare_policies(simulated, simulated.positions, examination, ("ops",))
    with pytest.raises(DataError, match="unknown estimator of position bias"):
        make_bias_estimator("guess", 3)


def test_users_fit_the_grades():
    assert user_for([0, 1], "perfect") == make_user("perfect", 2)
    assert user_for([0, 2], "perfect") == make_user("perfect", 3)
    assert user_for([0, 3], "perfect") == make_user("perfect", 5)
    assert user_for([0, 2], "navigational:click") == make_user("navigational", 3)
    assert user_for([0, 2], "navigational:document") == make_user(
        "navigational", 3, stops_after="document"
    )
    assert user_for([0, 2], "ultra") == ultra_user()
    assert user_for([0, 2], "cascade") == cascade_user()
    for name in ("lazy", "perfect:never", "ultra:document"):
        with pytest.raises(DataError, match=f"unknown user '{name}'; known: perfect.*ultra"):
            user_for([0], name)
    with pytest.raises(DataError, match="grades go up to 7"):
        user_for([7], "perfect")
