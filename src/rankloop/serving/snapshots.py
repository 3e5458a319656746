"""Saved states, and loops restored from them and the entries that followed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from rankloop.exceptions import RankloopError
from rankloop.serving.engine import Engine
from rankloop.serving.journal.base import JournalError, Record, Saved
from rankloop.serving.journal.entries import decode_ids, digest_of
from rankloop.serving.recent import Recent, remembered
from rankloop.serving.state import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.journal.entries import Entry

_log = logging.getLogger("rankloop.serving")


def saved_state(engine: Engine) -> Saved:
    """Return an engine's state as it is saved: its bytes, and a digest of them."""
    body = msgspec.msgpack.encode(engine.state())
    return Saved(engine.position, digest_of(body).hex(), body)


def restored(saved: Saved, fetch: Callable[[int], Entry]) -> Engine:
    """Return the engine of a saved state; raise if its bytes are damaged."""
    if digest_of(saved.body).hex() != saved.digest:
        raise JournalError(f"the state saved after entry {saved.position} is damaged")
    engine = Engine(fetch)
    try:
        engine.restore(msgspec.msgpack.decode(saved.body, type=State))
    except msgspec.MsgspecError as error:
        raise JournalError(f"the state saved after entry {saved.position}: {error}") from None
    return engine


def brought_back(
    journal: Journal, fetch: Callable[[int], Entry] | None = None, until: int | None = None
) -> Engine:
    """Return the engine after the last or an earlier entry, from the newest state before it.

    A state that cannot be used costs only time: an older one is used, or all is replayed.
    """
    recent = Recent()
    fetch = fetch or remembered(recent, journal)
    engine = Engine(fetch)
    for saved in journal.saved(until):
        try:
            engine = restored(saved, fetch)
            break
        except RankloopError as error:
            _log.warning("%s; an older state, or a replay from the start, is used instead", error)
    if not engine.position and journal.base():
        raise JournalError(
            f"{journal.where}: entries up to {journal.base()} were compacted, and there is no "
            "complete saved state to continue from; choose a later position, or restore the "
            "journal from a backup"
        )
    for record in recent.follow(journal, engine.position, until, decode_ids):
        engine.apply(record)
    engine.learn()
    return engine


def replayed(
    journal: Journal,
    until: int | None = None,
    without: Callable[[Record], bool] | None = None,
) -> Engine:
    """Return the engine after applying all entries from the first one.

    If entries were compacted, it starts from the state that replaced them.

    Parameters
    ----------
    until : the last entry to apply; None: all
    without : entries to leave out, such as feedback from a faulty client; the result is as if
        they did not exist. Digests in the journal then differ, and are not compared
    """
    recent = Recent()
    fetch = remembered(recent, journal)
    engine = restored(journal.saved()[-1], fetch) if journal.base() else Engine(fetch)
    if until is not None and until < engine.position:
        raise JournalError(
            f"{journal.where}: cannot return to entry {until}, because the entries before "
            f"{engine.position} were compacted; choose a later one"
        )
    if without is None:
        for record in recent.follow(journal, engine.position, until, decode_ids):
            engine.apply(record)
        engine.learn()
        return engine
    for record in recent.follow(journal, engine.position, until):
        engine.pass_over(record) if without(record) else engine.apply(record, check=False)
    engine.learn()
    return engine
