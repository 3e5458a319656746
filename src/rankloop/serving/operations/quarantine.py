"""Leaves out an entry that harms a loop, and applies a failed one again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.exceptions import DataError
from rankloop.feedback.ids import new_id
from rankloop.serving.engine.snapshots import load_engine, take_snapshot
from rankloop.serving.journal.action_entries import Configured, EpochStarted, Quarantined, Retried
from rankloop.serving.journal.base import JournalError, make_row

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal

_ATTEMPTS = 100


def quarantine(journal: Journal, position: int, reason: str = "", by: str = "", at: int = 0) -> int:
    """Store the state that a loop has without one entry, and return the position of that.

    All processes continue from this state, also those that have applied the entry, and those that
    it ended. The entry stays in the journal, but no replay applies it again.

    Parameters
    ----------
    position : of the entry to leave out
    at : the time, in milliseconds
    """
    entry = _check(journal, position)
    if isinstance(entry, Configured | EpochStarted | Quarantined):
        raise DataError(
            f"entry {position} is {type(entry).__name__}, without which the later ones mean "
            "nothing; it cannot be left out"
        )
    engine = load_engine(journal, left_out=position)
    for _ in range(_ATTEMPTS):
        state = msgspec.msgpack.encode(engine.state())
        after = engine.position
        journal.append([make_row(Quarantined(position, after, state, reason, by), at)])
        # As for an epoch: if another process has appended before it, all pass this attempt over.
        for record in journal.scan(after):
            engine.apply(record, check=False)
        if isinstance(journal.at(after + 1), Quarantined):
            journal.save(take_snapshot(engine))
            return after + 1
    raise JournalError(
        f"{journal.where}: others append so fast that no state can be stored; stop the services, "
        "and try again"
    )


def retry(journal: Journal, position: int, by: str = "", at: int = 0) -> int:
    """Let a loop learn again from an entry that failed, and return the position of the attempt."""
    _check(journal, position)
    (result,) = journal.append([make_row(Retried(new_id(), position, by), at)])
    return result.position


def _check(journal: Journal, position: int) -> object:
    head, base = journal.head(), journal.base()
    if not base < position <= head:
        raise DataError(f"position: found {position}, expected one from {base + 1} to {head}")
    return journal.at(position)
