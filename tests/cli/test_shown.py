"""Results in every form, on narrow terminals, in plain locales, and for readers who leave."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import rankloop as rl
from rankloop.cli import tables

RANKLOOP = [sys.executable, "-c", "from rankloop.cli import main; main()"]


def commands(simulated, model):
    return {
        "inspect": ["inspect", simulated],
        "rankers": ["rankers"],
        "evaluate": ["evaluate", simulated, "--model", model],
        "per query": ["evaluate", simulated, "--model", model, "--per-query"],
        "explained": ["evaluate", simulated, "--model", model, "--explain"],
        "compare": ["compare", simulated, "-r", "slam", "-r", "perceptron", "--folds", "3"],
        "stream": ["stream", simulated, "-r", "slam"],
        "tune": ["tune", simulated, "-r", "slam", "--trials", "2", "--folds", "2"],
        "parts": ["explain", model],
        "effects": ["explain", model, simulated],
        "reproduce": ["reproduce", "--list"],
    }


NAMES = list(commands("", ""))


@pytest.fixture
def command(ok, simulated, tmp_path):
    model = tmp_path / "model.rlm"
    ok("train", simulated, "-r", "slam", "-o", model)
    return commands(simulated, model)


@pytest.mark.parametrize("name", NAMES)
def test_every_form(ok, command, name):
    rows = list(csv.reader(io.StringIO(ok(*command[name], "--csv").out)))
    assert rows
    assert "\\begin{tabular}" in ok(*command[name], "--latex").out
    assert "| --- |" in ok(*command[name], "--markdown").out.replace("---:", "---")
    assert ok(*command[name], "--json").json


def test_csv_has_all_digits(ok, command):
    out = ok(*command["evaluate"], "--csv").out
    (row,) = csv.DictReader(io.StringIO(out))
    assert float(row["mean"]) == ok(*command["evaluate"], "--json").json[0]["mean"]


def test_latex_is_escaped():
    text = tables.latex_text(["50%"], [["a_b & c"], ["1 ± 2"]])
    assert r"50\%" in text
    assert r"a\_b \& c" in text
    assert r"1 $\pm$ 2" in text


def test_a_table_that_is_too_wide_is_stacked(monkeypatch, capsys):
    from rich.console import Console

    columns = ["ranker", "mean", "against the baseline", "interval"]
    rows = [["slam", 0.123456, "+0.0183*", "-0.0111 to +0.0469"], ["auto", 0.5, "", ""]]
    monkeypatch.setattr(Console, "is_terminal", True)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "25")
    monkeypatch.setenv("TERM", "dumb")
    tables.print_table(columns, rows, "A title")
    shown = capsys.readouterr().out
    assert "against the baseline  +0.0183*\n" in shown
    assert "interval              -0.0111 to +0.0469\n" in shown
    assert "…" not in shown
    monkeypatch.setenv("COLUMNS", "140")
    tables.print_table(columns, rows, "A title")
    assert "+0.0183*   -0.0111 to +0.0469" in capsys.readouterr().out


def test_one_permutation_has_no_deviation(ok, simulated):
    assert "±" not in ok("stream", simulated, "-r", "slam").out
    assert "±" in ok("stream", simulated, "-r", "slam", "--permutations", 2).out


def test_plain_locales(simulated):
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    command = [*RANKLOOP, "stream", str(simulated), "-r", "slam", "--permutations", "2"]
    done = subprocess.run(command, env=plain, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"+/-" in done.stdout
    assert subprocess.run([*RANKLOOP, "--help"], env=plain, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    "words", [["evaluate", "--per-query"], ["tune", "-r", "slam", "--trials", "2"], ["inspect"]]
)
def test_a_reader_may_leave_early(simulated, tmp_path, words):
    model = tmp_path / "m.rlm"
    rl.Slam().fit(rl.read(simulated)).save(model)
    more = ["--model", str(model)] if words[0] == "evaluate" else []
    command = [*RANKLOOP, words[0], str(simulated), *words[1:], *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        complaint = process.stderr.read()
    assert complaint == b""
    assert process.returncode == 0


def test_an_interrupt_is_clean(simulated, tmp_path):
    kept = tmp_path / "trials.log"
    command = [*RANKLOOP, "tune", str(simulated), "-r", "xendcg", "--trials", "100000"]
    command += ["--storage", str(kept)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for _ in range(1200):  # until it is at work
            time.sleep(0.1)
            if kept.is_file() and kept.stat().st_size > 1000:
                break
        process.send_signal(signal.SIGINT)
        try:
            _, complaint = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert complaint.strip() in (b"", b"interrupted")  # typer's own end, or ours


def test_scores_as_json_go_where_they_should(ok, command, simulated, tmp_path):
    model = command["parts"][1]
    target = tmp_path / "scores.json"
    assert ok("score", model, simulated, "--json", "-o", target).out == ""
    assert target.read_text() == ok("score", model, simulated, "--json").out


def test_frames(simulated):
    data = rl.read(simulated)
    found = rl.compare(data, ["slam", "perceptron"], folds=3, search=False)
    assert list(found.to_frame()["ranker"]) == ["slam", "perceptron"]
    assert isinstance(found.to_frame("polars"), pl.DataFrame)
    assert isinstance(rl.evaluate(data, data.y).to_frame(), pd.DataFrame)
    with pytest.raises(
        rl.DataError, match="kind of a frame must be 'pandas' or 'polars'; found 'arrow'"
    ):
        found.to_frame("arrow")


class TestConfiguration:
    @pytest.fixture
    def shop(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "shop.csv").write_text(
            "srch_id,click_bool,position,price,brand\n"
            + "".join(f"{k // 4},{k % 2},{k % 4},{k * 7 % 11},{'ab'[k % 2]}\n" for k in range(80))
        )

    def test_what_init_writes_is_understood(self, ok, shop):
        ok("init", "shop.csv", "--click", "click_bool", "--position", "position")
        text = Path("rankloop.toml").read_text()
        assert 'query = "srch_id"' in text
        assert "#   brand: category of 2" in text
        done = ok("train", "--config", "rankloop.toml", "-o", "shop.rlm")
        assert "20 queries learnt" in done.out
        assert rl.load("shop.rlm").features.names == ("price", "brand")

    def test_a_column_that_may_be_a_leak_is_dropped_unless_it_is_included(self, ok, shop):
        ok("init", "shop.csv", "--label", "click_bool")
        text = Path("rankloop.toml").read_text()
        assert 'drop = ["position"]' in text
        assert "#   position: number; dropped below: if it is known before ranking" in text
        ok("train", "--config", "rankloop.toml", "-o", "shop.rlm")
        assert rl.load("shop.rlm").features.names == ("price", "brand")
        ok("init", "shop.csv", "--label", "click_bool", "--include", "position", "--force")
        assert "drop = [" not in Path("rankloop.toml").read_text().replace("# drop = []", "")
        ok("train", "--config", "rankloop.toml", "-o", "shop.rlm")
        assert "position" in rl.load("shop.rlm").features.names

    def test_ids_and_lists_in_one_text_are_pointed_out(self, ok, shop):
        rows = "".join(f"{k // 4},{k % 2},i{k % 8},{'a|b' if k % 3 else 'b'}\n" for k in range(80))
        Path("shop.csv").write_text(f"qid,label,id,tags\n{rows}")
        ok("init", "shop.csv")
        text = Path("rankloop.toml").read_text()
        assert 'id: category of 8; ids of documents? then doc_id = "id"' in text
        assert 'tags: category of 2; several in one text? then lists = ["tags=|"]' in text

    def test_what_is_typed_goes_first(self, run, shop, ok):
        ok("init", "shop.csv", "--click", "click_bool", "--position", "position")
        done = run("inspect", "--config", "rankloop.toml", "--query", "none")
        assert "there is no column 'none'" in done.err


def test_completion_is_offered(ok):
    assert "--install-completion" in ok("--help").out
