"""The code of other tools and ours, side by side on a page, runs where the tool is installed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import rankloop as rl

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"


def sections():
    """The code of the page's beginning, and of each section by its title."""
    start, *others = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    code = re.compile(r"```python\n(.*?)```\n", re.DOTALL)
    found = {text.partition("\n")[0]: "".join(code.findall(text)) for text in others}
    return "".join(code.findall(start)), found


def run(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    start, code = sections()
    space = {}
    exec(start + code[name], space)
    return space


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")  # what people's code has
def test_lightgbm(tmp_path, monkeypatch, capsys):
    pytest.importorskip("lightgbm")
    space = run("LightGBM", tmp_path, monkeypatch)
    test = space["test"]
    assert "nDCG@10  standard    0." in capsys.readouterr().out
    both = [
        rl.evaluate(test, np.asarray(scores), "nDCG@10")["nDCG@10"]
        for scores in (space["scores"], space["ours"].predict(test))
    ]
    assert abs(both[0] - both[1]) < 0.1
    assert space["live"].learn(test.query(0).X, test.query(0).y).is_fitted


def test_river(tmp_path, monkeypatch):
    pytest.importorskip("river")
    space = run("river", tmp_path, monkeypatch)
    assert len(space["ranking"]) == len(space["test"].query(0).y)


def test_metarank(tmp_path, monkeypatch):
    pytest.importorskip("httpx")
    visit = run("Metarank", tmp_path, monkeypatch)["visit"]
    sent = []

    class Shown:
        ranking_id, ids = "r", ("item2", "item1")

    class Service:
        def rank(self, items, **options):
            sent.append((list(items), options["id"][:8]))
            return Shown

        def feedback(self, events):
            sent.extend((event.ranking_id, event.item) for event in events)

    visit(Service())
    assert sent == [(["item1", "item2"], "81f46c34"), ("r", "item2")]
