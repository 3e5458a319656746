"""Nasty files: a command reads them, or says what is wrong and where; see nasty.py."""

from __future__ import annotations

import pytest

from .nasty import CASES, SAYS


def test_every_error_has_its_message():
    names = [one.name for one in CASES]
    assert len(names) == len(set(names)) >= 130
    assert set(SAYS) <= set(names)
    assert {one.name for one in CASES if one.code} <= set(SAYS)


@pytest.mark.matrix
@pytest.mark.parametrize("one", CASES, ids=lambda one: one.name)
def test_nasty_files(one, run, tmp_path, monkeypatch):
    if one.file.endswith((".parquet", ".arrow")):
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    if one.content is not None:
        (tmp_path / one.file).write_bytes(one.content)
    outcome = run(*one.command, one.file, *one.options)
    said = " ".join(outcome.err.split())
    assert outcome.code == one.code, said
    assert SAYS.get(one.name, "") in said
    assert "Traceback" not in said
    if one.code:  # the last line is the one that is read
        assert outcome.err.strip().splitlines()[-1].startswith("error: ")
    elif one.name not in SAYS:
        assert "warning: " not in said
