"""Logs in the layouts of RelPred and TianGong-ST, with the odd lines that such files have."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.clicks.log.relpred import read_relpred
from rankloop.clicks.log.tiangong import read_tiangong

from .published_logs import simulate_pages, write_relpred, write_tiangong


def pages_of(log):
    """Query, documents from the top and clicked documents of each page."""
    found = []
    for p, query in enumerate(log.queries):
        rows = slice(log.offsets[p], log.offsets[p + 1])
        documents = [int(name) for name in log.document_ids[log.documents[rows]]]
        clicked = {d for d, c in zip(documents, log.clicks[rows], strict=True) if c}
        found.append((str(log.query_ids[query]), documents, clicked))
    return found


@pytest.mark.parametrize("odd", [False, True])
def test_relpred_is_read_as_it_was_written(tmp_path, odd):
    pages = list(simulate_pages(300, np.random.default_rng(1)))
    write_relpred(tmp_path / "log.txt", iter(pages), odd)
    log = read_relpred(tmp_path / "log.txt", skip_bad_rows=odd)
    expected = [(f"{p.query}_{p.query % 4}", p.documents, set(p.clicked)) for p in pages]
    assert pages_of(log) == expected
    if odd:
        assert log.notes[0].startswith(f"{len(pages)} bad rows left out")
        assert log.notes[1].startswith(f"{len(pages)} clicks on documents that were not shown")
    else:
        assert log.notes == ()


@pytest.mark.parametrize("odd", [False, True])
def test_tiangong_is_read_as_it_was_written(tmp_path, odd):
    pages = list(simulate_pages(300, np.random.default_rng(2)))
    write_tiangong(tmp_path / "log.xml", iter(pages), odd)
    log = read_tiangong(tmp_path / "log.xml", skip_bad_rows=odd)
    expected = [(str(page.query), page.documents, set(page.clicked)) for page in pages]
    assert pages_of(log) == expected
    assert log.positions.tolist() == [*range(1, 11)] * len(pages)
    assert any(note.startswith(f"{len(pages)} bad rows left out") for note in log.notes) == odd
