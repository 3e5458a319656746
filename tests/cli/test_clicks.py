"""`rankloop clicks`, and `rankloop stream --clicks`."""

import json

import pytest


@pytest.fixture
def log(ok, simulated, tmp_path):
    path = tmp_path / "log.csv"
    ok("clicks", "simulate", simulated, "-o", path, "--feature", 1, "--noise", 0.5)
    return path


def answer(outcome):
    return json.loads(outcome.out)


def test_simulate_and_inspect(ok, log):
    found = answer(ok("clicks", "inspect", log, "--json"))
    assert found["pages"] == 400
    assert found["queries"] == 40
    assert len(found["click_rates"]) == 10
    assert found["click_rates"][0] > found["click_rates"][-1]
    assert "click rate" in ok("clicks", "inspect", log).out


def test_fit(ok, log, tmp_path):
    models = answer(ok("clicks", "fit", log, "--model", "pbm", "--model", "global-ctr", "--json"))
    assert [model["model"] for model in models] == ["pbm", "global-ctr"]
    assert models[0]["log_likelihood"] < 0
    bias = answer(
        ok(
            "clicks",
            "fit",
            log,
            "--bias",
            "random",
            "--ranks",
            5,
            "--json",
            "--plot",
            tmp_path / "b.png",
        )
    )
    assert len(bias[0]["examination"]) == 5
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


def test_judge(ok, log, tmp_path):
    out = tmp_path / "j.csv"
    found = answer(ok("clicks", "judge", log, "-o", out, "--by", "pbm", "--grades", 3, "--json"))
    lines = out.read_text().splitlines()
    assert len(lines) == found["judgements"] + 1
    assert {line.rpartition(",")[2] for line in lines[1:]} <= {"0.0", "1.0", "2.0"}


def test_evaluate(ok, log):
    options = ("--score", "position", "--examination", "1,0.8,0.6,0.5,0.4", "--estimator", "ips")
    rows = answer(ok("clicks", "evaluate", log, *options, "--json"))
    assert [row["of"] for row in rows] == ["ranker", "logged", "difference"]
    assert rows[2]["value"] < 0  # the log turned upside down
    assert "difference" in ok("clicks", "evaluate", log, *options).out


def test_train(ok, log, simulated, tmp_path):
    """From a log to a ranker in one command, which says how it corrected the clicks."""
    model = tmp_path / "model.rlm"
    options = ("--items", simulated, "-o", model, "-r", "xendcg")
    found = answer(ok("clicks", "train", log, *options, "--json"))
    assert found["pages"] == 400
    assert found["gain"]["low"] < found["gain"]["value"] < found["gain"]["high"]
    assert found["correction"] in ("naive", "all-pairs")
    shown = ok("clicks", "train", log, *options, "--correction", "naive").out
    assert "correction: naive; as requested" in shown
    assert answer(ok("evaluate", simulated, "--model", model, "--json"))


def test_bad_rows_and_duplicates(ok, run, log, tmp_path):
    lines = log.read_text().splitlines(keepends=True)
    path = tmp_path / "bad.csv"
    path.write_text("".join([*lines, lines[-1], "1,2\n"]))
    wrong = run("clicks", "inspect", path)
    assert wrong.code == 1
    assert f"bad.csv:{len(lines) + 2}: it has 2 columns" in wrong.err
    assert "pass --skip-bad-rows" in wrong.err
    shown = ok("clicks", "inspect", path, "--skip-bad-rows", "--drop-duplicates").out
    assert "1 bad row left out" in shown
    assert "1 duplicate row left out" in shown
    (tmp_path / "none.csv").write_text("query,document\nq,d\n")
    assert "pass --column clicked=COLUMN" in run("clicks", "inspect", tmp_path / "none.csv").err


def test_power(ok):
    shown = answer(ok("clicks", "power", "--preference", 0.1, "--per-day", 100, "--json"))
    assert [row["impressions"] for row in shown] == [1562, 2740]
    assert [row["half"] for row in shown] == [None, 1578]
    assert shown[0]["days"] == 15.62
    assert "27.4" in ok("clicks", "power", "--preference", 0.1, "--per-day", 100).out


def test_stream(ok, simulated):
    options = ("-r", "pdgd", "-r", "auto", "--clicks", "perfect", "--impressions", 50)
    rows = answer(ok("stream", simulated, "--scale", "query-minmax", *options, "--json"))
    assert [(row["ranker"], row["user"]) for row in rows] == [
        ("pdgd", "perfect"),
        ("auto", "perfect"),
    ]
    assert all(0 < row["final"] <= 1 and 0 < row["online"] < 50 for row in rows)
    assert list(rows[0]["curve"])[-1] == "50"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("clicks", "inspect", "none.csv"), "none.csv"),
        (("clicks", "fit", "{log}", "--model", "bpm"), "unknown click model"),
        (("clicks", "inspect", "{log}", "--column", "query"), "write a column such as"),
        (("clicks", "judge", "{log}", "-o", "j.txt"), ".csv or .json"),
        (("stream", "{data}", "-r", "pdgd", "--clicks", "nobody"), "unknown user"),
    ],
)
def test_mistakes_are_named(run, log, simulated, arguments, words):
    named = [str(one).format(log=log, data=simulated) for one in arguments]
    outcome = run(*named)
    assert outcome.code not in (0, None)
    assert words in " ".join(outcome.err.split())
