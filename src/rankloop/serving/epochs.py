"""Epochs: an upgrade that changes arithmetic goes on from a journaled full state.

Within an epoch, all processes reach the same state from the same entries, bit for bit, and compare
its digests. A new version of the engine would reach another one. So it takes the state that the old
version left, applies what followed, and journals all of it: from there on, every replay of the new
version starts from the same bits.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from rankloop.exceptions import DataError
from rankloop.serving.journal.base import Draft
from rankloop.serving.journal.entries import EpochStarted
from rankloop.serving.state import ENGINE, State

if TYPE_CHECKING:
    from rankloop.serving.engine import Engine
    from rankloop.serving.journal.base import Journal

_log = logging.getLogger("rankloop.serving")


def enter_epoch(journal: Journal, engine: Engine, at: int) -> None:
    """Begin the epoch of this version where a journal is still in an older one.

    Parameters
    ----------
    engine : brought up to the end of the journal; it goes on to the end of what is added
    at : the time, in milliseconds
    """
    while engine.settings is not None and engine.epoch != ENGINE:
        old, position = engine.epoch, engine.position
        state = msgspec.msgpack.encode(engine.state())
        journal.append([Draft(EpochStarted(ENGINE, position, state), at)])
        for record in journal.scan(position):  # others may have appended first: then again
            engine.apply(record)
        _log.warning(
            "%s: version %d of the engine wrote it up to entry %d; version %d goes on from the "
            "state after that. Positions before it cannot be recomputed any more",
            journal.where,
            old,
            position,
            ENGINE,
        )


def epoch_state(entry: EpochStarted, position: int) -> State | None:
    """Return the state that an epoch starts from; None where it is not one to start from here."""
    if entry.engine > ENGINE:
        raise DataError(
            f"entry {position}: the journal goes on with version {entry.engine} of the engine, but "
            f"this one is {ENGINE}; install the newer version of rankloop"
        )
    if entry.engine < ENGINE or entry.after != position - 1:
        return None
    return msgspec.msgpack.decode(entry.state, type=State)


def check_same_epoch(engine: Engine, what: str) -> None:
    """Raise where what was brought back belongs to an epoch that cannot be recomputed."""
    if engine.epoch != ENGINE:
        raise DataError(
            f"{what} was made by version {engine.epoch} of the engine, whose arithmetic version "
            f"{ENGINE} cannot repeat; take a position after the upgrade"
        )
