"""Epochs: an upgrade that changes results continues from a full state in the journal.

Within an epoch, all processes reach the same state from the same entries, bit for bit, and compare
its digests. A new version of the engine would reach another state. So it takes the last state of
the old version, applies the entries that followed, and stores the full state in the journal: from
there on, every replay of the new version starts from the same bits.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from rankloop.exceptions import DataError
from rankloop.serving.engine.state import ENGINE, State
from rankloop.serving.journal.action_entries import EpochStarted, ExperimentEnded
from rankloop.serving.journal.base import make_row
from rankloop.serving.learning.failures import NewerEngineError

if TYPE_CHECKING:
    from rankloop.serving.engine.engine import Engine
    from rankloop.serving.journal.action_entries import Quarantined
    from rankloop.serving.journal.base import Journal

_log = logging.getLogger("rankloop.serving")


def enter_epoch(journal: Journal, engine: Engine, at: int) -> None:
    """Start the epoch of this version if the journal is still in an older one.

    Parameters
    ----------
    engine : at the end of the journal; the entries that are added are applied to it too
    at : the time, in milliseconds
    """
    if engine.settings is not None and engine.epoch != ENGINE:
        _end_experiment(journal, engine, at)
    while engine.settings is not None and engine.epoch != ENGINE:
        old, position = engine.epoch, engine.position
        state = msgspec.msgpack.encode(engine.state())
        journal.append([make_row(EpochStarted(ENGINE, position, state), at)])
        # Another process may have appended before this entry. The state then lacks its entries, all
        # processes pass the entry over (`epoch_state`), and the next turn tries again from the end.
        for record in journal.scan(position):
            engine.apply(record)
        _log.warning(
            "%s: version %d of the engine wrote it up to entry %d; version %d continues from the "
            "state after that. Earlier positions can no longer be recomputed",
            journal.where,
            old,
            position,
            ENGINE,
        )


def _end_experiment(journal: Journal, engine: Engine, at: int) -> None:
    """End the running experiment without a winner: outcomes of two versions cannot be added."""
    running = engine.running
    if running is None:
        return
    reason = f"version {ENGINE} of the engine cannot add to the outcomes of version {engine.epoch}"
    journal.append([make_row(ExperimentEnded(running.id, reason), at)])
    for record in journal.scan(engine.position):
        engine.apply(record)
    _log.warning(
        "%s: the experiment %s ends without a winner, because %s; start it again",
        journal.where,
        running.id,
        reason,
    )


def refuse_newer(engine: int, what: str) -> None:
    """Raise if a newer version of the engine wrote something: this one must not continue."""
    if engine > ENGINE:
        raise NewerEngineError(
            f"{what}: the journal was continued by version {engine} of the engine, but this is "
            f"version {ENGINE}; install the newer version of Rankloop"
        )


def epoch_state(entry: EpochStarted, position: int) -> State | None:
    """Return the state that an epoch starts from; None if this version cannot start from it."""
    refuse_newer(entry.engine, f"entry {position}")
    # A state that is not of the entry just before it lacks what others appended meanwhile. Whether
    # it is used depends on positions only, so that every replay decides alike.
    if entry.engine < ENGINE or entry.after != position - 1:
        return None
    return msgspec.msgpack.decode(entry.state, type=State)


def quarantined_state(entry: Quarantined, position: int) -> State | None:
    """Return the state without a quarantined entry; None if it is not of the entry just before."""
    if entry.after != position - 1:
        return None
    return msgspec.msgpack.decode(entry.state, type=State)


def check_same_epoch(engine: Engine, what: str) -> None:
    """Raise if a restored state belongs to an epoch that cannot be recomputed."""
    if engine.epoch != ENGINE:
        raise DataError(
            f"{what} was made by version {engine.epoch} of the engine, whose results version "
            f"{ENGINE} cannot reproduce; choose a position after the upgrade"
        )
