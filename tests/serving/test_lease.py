"""Who closes windows: a leader that is paused, has failed or has lost its files gives way."""

from __future__ import annotations

import os

import pytest

from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Paged, Ranked
from rankloop.serving.loop import Loop

from .tools import Clock, click, ranked, small, until


def test_a_paused_leader_gives_way_and_notices_it(address, rng):
    clock = Clock()
    with (
        open_journal(*address) as paused,
        Loop("loop", small(window=10), open_journal(*address), clock=clock) as loop,
    ):
        until(lambda: loop.leads)
        loop._writer._journal.release()
        until(paused.lead)  # and from now on it says nothing
        until(lambda: not loop.leads)
        loop.append(ranked(loop, "r1", rng))
        clock.now += 11
        assert not loop._writer._journal.lead()
        loop._writer._journal._lease._expires = 0.2
        until(lambda: loop.open_rankings == 0)
        assert loop.leads
        assert not paused.lead()


def test_a_loop_that_failed_gives_the_lease_up(address, rng, monkeypatch):
    failed = Loop("loop", small(), open_journal(*address))
    until(lambda: failed.leads)
    with Loop("loop", small(), open_journal(*address)) as other:
        assert not other.leads

        def fail(_):
            raise MemoryError

        monkeypatch.setattr(failed._engine, "apply", fail)
        failed.submit([ranked(failed, "r1", rng)])
        until(lambda: failed.fault is not None)
        until(lambda: other.leads)
        assert not failed.leads
        failed.stop()


def test_a_process_without_free_descriptors_does_not_lead_but_goes_on(tmp_path, rng, monkeypatch):
    opened = os.open

    def full(path, *more, **options):
        if str(path).endswith("-lease"):
            raise OSError(24, "Too many open files")
        return opened(path, *more, **options)

    monkeypatch.setattr("os.open", full)
    with Loop("loop", small(), open_journal(str(tmp_path / "j"), "loop")) as loop:
        assert not loop._writer._journal.lead()
        assert loop.append(ranked(loop, "r1", rng))[0].status == "accepted"
        monkeypatch.undo()
        until(lambda: loop.leads)


def without_follower(loop):
    """A loop that reads nothing of other processes, except where the writer looks for itself."""
    loop._progress.stopping = True
    loop._threads[2].join()
    loop._progress.stopping = False
    return loop


def test_feedback_on_what_another_process_has_just_shown_is_accepted(address, rng):
    """Its ranking, or a further page of it: the writer reads the journal before it refuses."""
    with Loop("loop", small(max_early=0), open_journal(*address)) as loop:
        without_follower(loop)
        known = ranked(loop, "known", rng, k=2)
        loop.append(known)
        shown: Ranked = ranked(loop, "r1", rng, k=2)
        with open_journal(*address) as other:
            other.append([make_row(entry, 0) for entry in (Paged("known", 2), shown)])
        second = known.items[known.page(2)[0]]
        answers = loop.append(
            click("e1", known, second), click("e2", shown, shown.items[shown.order[0]])
        )
        assert [answer.status for answer in answers] == ["applied", "applied"]


def test_feedback_on_what_another_process_has_not_shown_is_rejected(address, rng):
    """An event whose ranking is not known here may be early, or about another process's."""
    with Loop("loop", small(), open_journal(*address)) as loop:
        without_follower(loop)
        shown = ranked(loop, "r1", rng, k=1)
        with open_journal(*address) as other:
            other.append([make_row(shown, 0)])
        unseen = shown.items[shown.page(2)[0]]
        answers = loop.append(
            click("e1", shown, unseen), click("e2", shown, shown.items[shown.order[0]])
        )
        assert [answer.status for answer in answers] == ["rejected", "applied"]
        assert answers[0].position is None
        assert "was not shown" in answers[0].detail


@pytest.mark.parametrize("max_early", [0, 10])
def test_feedback_that_comes_with_its_ranking_must_be_about_its_items(tmp_path, rng, max_early):
    journal = open_journal(str(tmp_path / "j"), "loop")
    with Loop("loop", small(max_early=max_early), journal) as loop:
        shown = ranked(loop, "r1", rng, k=1)
        unseen = shown.items[shown.page(2)[0]]
        answers = loop.append(
            shown, click("e1", shown, unseen), click("e2", shown, shown.items[shown.order[0]])
        )
        assert [answer.status for answer in answers] == ["accepted", "rejected", "applied"]
