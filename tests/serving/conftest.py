"""Journals for the shared suite: a file of SQLite, and a real PostgreSQL."""

from __future__ import annotations

import pytest

from rankloop.serving.journal.opening import open_journal


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    """The address and the name of a new journal, in either store."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres"), "loop"
    return str(tmp_path / "a.journal"), "loop"


@pytest.fixture
def journal(address):
    with open_journal(*address) as journal:
        yield journal
