"""The examples run, in any folder, and print what they promise."""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rankloop as rl
from rankloop.rankers.registry import online_names

from .shown import plain_environment

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


SIMULATED = plain_environment() | {"RANKLOOP_DATA": "none"}


def run(
    name: str,
    folder: Path,
    *options: str,
    quiet: bool = True,
    settings: dict[str, str] = SIMULATED,
) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *options]
    done = subprocess.run(
        command,
        cwd=folder,
        env=settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    # A service says on its own when it begins with an empty journal.
    said = [line for line in done.stderr.splitlines() if "is a new, empty journal" not in line]
    assert not quiet or said == []
    return done.stdout


@pytest.fixture(scope="module")
def first_look(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    return folder, run("first_look.py", folder)


def test_first_look(first_look):
    folder, shown = first_look
    out = folder / "out"
    assert {path.name for path in out.iterdir()} == {
        "data.txt",
        "good.txt",
        "random.txt",
        "first_look.png",
    }
    assert (out / "first_look.png").read_bytes().startswith(b"\x89PNG")
    data = rl.read_letor(out / "data.txt")
    assert f"{data.n_documents:,}" in shown
    good = rl.evaluate(data, data.X[:, 0])["nDCG@10"]
    mslr = rl.evaluate(data, data.X[:, 0], convention="mslr")["nDCG@10"]
    assert f"{good:.4f}" in shown
    assert f"{mslr:.4f}" in shown
    assert f"{good:.4f}" != f"{mslr:.4f}"
    row = next(line.split() for line in shown.splitlines() if line.startswith("  good"))
    assert row[2] == "random"
    assert row[4].startswith("+")
    assert row[4].endswith("*")
    assert shown.splitlines()[-1].endswith("out/first_look.png")


@pytest.mark.slow
def test_first_look_shows_the_same_every_time(first_look, tmp_path):
    folder, shown = first_look
    assert run("first_look.py", tmp_path) == shown
    for name in ("first_look.png", "data.txt"):
        assert (tmp_path / "out" / name).read_bytes() == (folder / "out" / name).read_bytes()


@pytest.mark.slow
def test_shop(tmp_path):
    pytest.importorskip("lightgbm")
    shown = run("shop.py", tmp_path, quiet=False)
    out = tmp_path / "out"
    assert len(rl.data.read_run(out / "today.run")) == 480  # scored without grades
    model = rl.load(out / "shop.rlm")
    assert model.n_queries_seen_ == 380  # the next day's are among them
    assert model.features.names[:3] == ("match", "price", "rating")
    assert (out / "shop.png").read_bytes().startswith(b"\x89PNG")
    rows = {
        line.split()[0]: line.split()
        for line in shown.splitlines()
        if line[:2] == "  " and line.strip()
    }
    assert {"auto", "lambdamart", "lightgbm"} <= rows.keys()
    assert float(rows["match"][1]) > 0.1
    assert "| 1 | sku-" in shown
    last = [line for line in shown.splitlines() if ": 0." in line]
    assert len(last) == 3
    assert all(float(line.rpartition(" ")[2]) > 0.8 for line in last)


@pytest.mark.slow
def test_stream(tmp_path):
    shown = run("stream.py", tmp_path, "--queries", "120")
    assert (tmp_path / "out" / "stream.png").read_bytes().startswith(b"\x89PNG")
    words = [line.split() for line in shown.splitlines()]
    ranked = [line[0] for line in words if line and line[0] in online_names()]
    wrappers = {"mix", "clicks", "thompson", "stacked"}
    assert set(ranked) == set(online_names()) - wrappers
    assert ranked[0] in ("auto", "newton", "solar-i", "solar-ii")


@pytest.mark.slow
def test_week(tmp_path):
    shown = run("week.py", tmp_path, "--rankings", "40")
    assert (tmp_path / "out" / "week.png").read_bytes().startswith(b"\x89PNG")
    assert "the same state, bit for bit" in shown
    assert "what people saw" in shown
    assert "category = " in shown  # what counts differently


@pytest.mark.slow
def test_budget_curve(tmp_path):
    shown = run("budget_curve.py", tmp_path)
    assert (tmp_path / "out" / "budget_curve.png").read_bytes().startswith(b"\x89PNG")
    reached = json.loads((tmp_path / "out" / "budget_curve.json").read_text())
    assert f"{reached['projection 25']:8.4f}" in shown
    assert reached["projection 25"] > reached["random 25"] > reached["linear"] + 0.1
    assert reached["no budget"] - 0.02 < reached["projection 100"]


@pytest.fixture(params=["simulated", "MQ2008"])
def settings(request):
    """Both kinds of data that the examples know; tests of numbers take those that hold for both."""
    if request.param == "simulated":
        return SIMULATED
    source = request.getfixturevalue("data_dir") / "MQ2008"
    if not source.is_dir():
        pytest.skip(f"no MQ2008 in {source.parent}")
    if (source / "Fold1").is_dir():
        return SIMULATED | {"RANKLOOP_DATA": str(source.parent)}
    folder = request.getfixturevalue("tmp_path") / "data"
    fold = folder / "MQ2008" / "Fold1"
    fold.mkdir(parents=True)
    for name, parts in (("train", "123"), ("vali", "4"), ("test", "5")):
        texts = (lzma.decompress((source / f"S{part}.txt.xz").read_bytes()) for part in parts)
        (fold / f"{name}.txt").write_bytes(b"".join(texts))
    return SIMULATED | {"RANKLOOP_DATA": str(folder)}


def number_after(words: str, shown: str) -> float:
    line = next(line for line in shown.splitlines() if line.strip().startswith(words))
    return float(re.findall(r"[-+]?\d*\.\d+", line.strip().removeprefix(words))[0])


@pytest.mark.slow
def test_train_and_serve(tmp_path):
    shown = run("train_and_serve.py", tmp_path)
    days = [number_after(f"day {day}:", shown) for day in range(1, 6)]
    frozen = [float(line.rpartition(" ")[2]) for line in shown.splitlines()]
    assert days[-1] > frozen[-1] + 0.1  # it has learnt what the people want
    assert days[-1] > days[0] + 0.05


@pytest.mark.slow
def test_click_log(tmp_path, settings):
    shown = run("click_log.py", tmp_path, settings=settings)
    logged, naive, corrected = (
        number_after(words, shown.partition("nDCG@10")[2])
        for words in ("the ranker that logged", "naive clicks", "corrected clicks")
    )
    assert naive > logged
    assert corrected > logged


@pytest.mark.slow
def test_compare_folds(tmp_path, settings):
    shown = run("compare_folds.py", tmp_path, settings=settings)
    assert number_after("auto", shown) > number_after("single-feature", shown)
    assert "<table" in (tmp_path / "out" / "compare.html").read_text()


@pytest.mark.slow
def test_replace_lightgbm(tmp_path, settings):
    pytest.importorskip("lightgbm")
    shown = run("replace_lightgbm.py", tmp_path, settings=settings)
    assert "the same scores, bit for bit: True" in shown
    trees = number_after("LightGBM, imported", shown)
    assert number_after("the imported trees, corrected", shown) > trees - 0.01


@pytest.mark.slow
def test_new_ranker(tmp_path, settings):
    shown = run("new_ranker.py", tmp_path, settings=settings)
    assert "checks passed" in shown
    assert number_after("with ranks inside the query", shown) > number_after("slam", shown)


def test_examples_are_small():
    for name in (
        "click_log.py",
        "compare_folds.py",
        "new_ranker.py",
        "replace_lightgbm.py",
        "train_and_serve.py",
    ):
        assert len((EXAMPLES / name).read_text().splitlines()) <= 90, name


@pytest.mark.slow
def test_catalogue(tmp_path):
    shown = run("catalogue.py", tmp_path)
    days = re.findall(r"day (\d): fields ([\d.]+), with counters ([\d.]+)", shown)
    assert len(days) == 3
    fields, counters = (float(value) for value in days[-1][1:])
    assert counters > fields > 0.7
