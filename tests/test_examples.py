"""The examples run, in any folder, and print what they promise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rankloop as rl
from rankloop.learners.registry import online_names

from .shown import plain_environment

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name: str, folder: Path, *options: str, quiet: bool = True) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *options]
    done = subprocess.run(
        command,
        cwd=folder,
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert not quiet or done.stderr == ""
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


def test_first_look_shows_the_same_every_time(first_look, tmp_path):
    folder, shown = first_look
    assert run("first_look.py", tmp_path) == shown
    for name in ("first_look.png", "data.txt"):
        assert (tmp_path / "out" / name).read_bytes() == (folder / "out" / name).read_bytes()


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
    assert rows["match"][1].startswith("+")
    assert "| 1 | sku-" in shown
    last = [line for line in shown.splitlines() if ": 0." in line]
    assert len(last) == 3
    assert all(float(line.rpartition(" ")[2]) > 0.8 for line in last)


def test_stream(tmp_path):
    shown = run("stream.py", tmp_path)
    assert (tmp_path / "out" / "stream.png").read_bytes().startswith(b"\x89PNG")
    words = [line.split() for line in shown.splitlines()]
    ranked = [line[0] for line in words if line and line[0] in online_names()]
    wrappers = {"mapped", "mix", "clicks", "thompson", "online-described", "stacked"}
    assert set(ranked) == set(online_names()) - wrappers
    assert ranked[0] in ("auto", "newton", "solar-i", "solar-ii")


def test_week(tmp_path):
    shown = run("week.py", tmp_path, "--rankings", "40")
    assert (tmp_path / "out" / "week.png").read_bytes().startswith(b"\x89PNG")
    assert "the same state, bit for bit" in shown
    assert "what people saw" in shown


def test_budget_curve(tmp_path):
    shown = run("budget_curve.py", tmp_path)
    assert (tmp_path / "out" / "budget_curve.png").read_bytes().startswith(b"\x89PNG")
    reached = json.loads((tmp_path / "out" / "budget_curve.json").read_text())
    assert f"{reached['projection 25']:8.4f}" in shown
    assert reached["projection 25"] > reached["random 25"] > reached["linear"] + 0.1
    assert reached["no budget"] - 0.02 < reached["projection 100"]
