"""Who closes windows: a leader that is paused, has failed or has lost its files gives way."""

from __future__ import annotations

import os

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


def test_feedback_on_what_another_process_has_just_shown_is_accepted(address, rng):
    """Its ranking, or a further page of it: the writer reads the journal before it refuses."""
    with Loop("loop", small(max_early=0), open_journal(*address)) as loop:
        loop._progress.stopping = True  # nothing else reads: the follower ends
        loop._threads[2].join()
        loop._progress.stopping = False
        known = ranked(loop, "known", rng, k=2)
        loop.append(known)
        shown: Ranked = ranked(loop, "r1", rng, k=2)
        with open_journal(*address) as other:
            other.append([make_row(entry, 0) for entry in (Paged("known", 2), shown)])
        second = known.items[known.page(2)[0]]
        answers = loop.append(click("e1", known, second), click("e2", shown))
        assert [answer.status for answer in answers] == ["applied", "applied"]
