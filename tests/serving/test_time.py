"""Clocks that are wrong, and windows that close nevertheless."""

from __future__ import annotations

from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.loop import Loop

from .tools import Clock, ranked, small, until

DAY = 24 * 3600


def test_a_ranking_of_a_machine_whose_clock_is_ahead_holds_up_nobody(tmp_path, rng):
    clock, place = Clock(), (str(tmp_path / "j"), "loop")
    with Loop("loop", small(window=60), open_journal(*place), clock=clock) as loop:
        ahead = ranked(loop, "ahead", rng)
        with open_journal(*place) as other:
            other.append([make_row(ahead, int(1000 * (clock.now + DAY)))])
        loop.append(ranked(loop, "r1", rng))
        assert loop.open_rankings == 2
        clock.now += 61  # both: a time in the future counts as now
        until(lambda: loop.open_rankings == 0)


def test_a_clock_that_was_ahead_holds_up_nobody_after_a_restart(tmp_path, rng):
    clock, place = Clock(), (str(tmp_path / "j"), "loop")
    clock.now += DAY
    with Loop("loop", small(window=60), open_journal(*place), clock=clock) as loop:
        loop.append(ranked(loop, "ahead", rng))
    clock.now -= DAY
    with Loop("loop", small(window=60), open_journal(*place), clock=clock) as loop:
        loop.append(ranked(loop, "r1", rng))
        clock.now += 61
        until(lambda: loop.open_rankings == 0)


def test_too_many_open_rankings_are_closed_first_due_first(tmp_path, rng):
    clock = Clock()
    with Loop(
        "loop", small(max_open=2), open_journal(str(tmp_path / "j"), "l"), clock=clock
    ) as loop:
        for number in range(5):
            loop.append(ranked(loop, f"r{number}", rng))
            clock.now += 1
        until(lambda: loop.open_rankings == 2)
        assert [loop.knows(f"r{n}") for n in range(5)] == [True] * 5
        assert list(loop._live.joins.open) == ["r3", "r4"]
