"""Notebooks run, and show what they showed: `python -m tests.notebooks FILE` writes them anew."""

import json
from pathlib import Path

import pytest

from . import notebooks
from .shown import settled

FOLDER = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_shows_what_it_showed(path):
    notebook = json.loads(path.read_text())
    shown = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for before, now in zip(shown, notebooks.run(notebook), strict=True):
        assert len(before) == len(now)
        for one, other in zip(before, now, strict=True):
            text, printed = (
                "".join(o.get("text") or o["data"]["text/plain"]) for o in (one, other)
            )
            assert settled(text, printed) == text
    assert any("text/html" in o.get("data", ()) for outputs in shown for o in outputs)
