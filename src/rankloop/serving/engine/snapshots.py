"""Saved states, and engines restored from them and from the entries that followed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from rankloop.exceptions import RankloopError
from rankloop.rankers.model_files.saving import dumps
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.epochs import refuse_newer
from rankloop.serving.engine.state import State
from rankloop.serving.journal.action_entries import EpochStarted, Quarantined, RolledBack
from rankloop.serving.journal.base import JournalError, Record, SavedState
from rankloop.serving.journal.cache import EntryCache, make_fetch
from rankloop.serving.journal.entries import decode, decode_ids, digest_of
from rankloop.serving.learning.failures import NewerEngineError, is_contained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.journal.entries import Entry

_log = logging.getLogger("rankloop.serving")


class _Version(msgspec.Struct):
    """The version of a state, whatever else that version keeps."""

    engine: int


def take_snapshot(engine: Engine) -> SavedState:
    """Return an engine's state as it is saved: its bytes, and a digest of them."""
    body = msgspec.msgpack.encode(engine.state())
    return SavedState(engine.position, digest_of(body).hex(), body)


def restore_engine(saved: SavedState, fetch: Callable[[int], Entry]) -> Engine:
    """Return the engine of a saved state; raise if its bytes are damaged."""
    if digest_of(saved.body).hex() != saved.digest:
        raise JournalError(f"the state saved after entry {saved.position} is damaged")
    engine = Engine(fetch)
    try:
        refuse_newer(
            msgspec.msgpack.decode(saved.body, type=_Version).engine,
            f"the state saved after entry {saved.position}",
        )
        engine.restore(msgspec.msgpack.decode(saved.body, type=State))
    except Exception as error:  # the version that saved it may have kept other things
        if not is_contained(error):
            raise
        raise JournalError(
            f"the state saved after entry {saved.position} cannot be read: {error}"
        ) from None
    return engine


def load_engine(
    journal: Journal,
    fetch: Callable[[int], Entry] | None = None,
    until: int | None = None,
    left_out: int | None = None,
) -> Engine:
    """Return the engine after the last or an earlier entry, from the newest state before it.

    A state that cannot be used costs only time: an older one is used, or all is replayed.

    Parameters
    ----------
    left_out : position of an entry that is not applied
    """
    recent = EntryCache()
    fetch = fetch or make_fetch(recent, journal)
    engine = Engine(fetch)
    # A state from after the last entry belongs to another journal, or to entries that were lost.
    head = journal.head()
    last = min(head if until is None else until, head if left_out is None else left_out - 1)
    for saved in journal.states(min(last, head)) if min(last, head) else []:
        try:
            engine = restore_engine(saved, fetch)
            break
        except NewerEngineError:
            raise
        except RankloopError as error:
            _log.warning("%s; an older state, or a replay from the start, is used instead", error)
    if not engine.position and journal.base():
        raise JournalError(
            f"{journal.where}: entries up to {journal.base()} were compacted, and there is no "
            "complete saved state to continue from; choose a later position, or restore the "
            "journal from a backup"
        )
    records = recent.follow(journal, engine.position, until, decode_ids)
    apply_all(engine, records, journal, until, left_out=left_out)
    return engine


def apply_all(
    engine: Engine,
    records: Iterable[Record],
    journal: Journal,
    until: int | None = None,
    without: Callable[[Record], bool] | None = None,
    left_out: int | None = None,
) -> None:
    """Apply entries, and learn from them; leave out those that were quarantined before `until`.

    Until the quarantine, which brings the state that all processes continue from, digests in the
    journal are of a state that had the entry, and are not compared.
    """
    quarantines = find_quarantines(journal, engine.position, until)
    is_whole = without is None and left_out is None
    models = None if is_whole else _ModelsAt(engine, journal, without is not None)
    unlike = 0  # the last position at which the state differs from that of whoever was there
    for record in records:
        position = record.position
        if models is not None and models.replaces(record):
            models.apply(record)
        elif position == left_out or position in quarantines or (without and without(record)):
            unlike = max(unlike, quarantines.get(position, 0))
            engine.pass_over(record)
        else:
            engine.apply(record, check=is_whole and position > unlike)
        if models is not None:
            models.note()
    engine.learn()


class _ModelsAt:
    """In a replay that leaves something out, what replaces entries that hold states with it.

    redoes : whether earlier rollbacks without events are done again, by leaving these out too
    """

    def __init__(self, engine: Engine, journal: Journal, redoes: bool) -> None:
        actions = (record.entry for record in journal.find_kind("action"))
        self._engine, self._start, self._redoes = engine, engine.position, redoes
        self._wanted = {entry.to for entry in actions if isinstance(entry, RolledBack)} - {0}
        self._models: dict[int, tuple[dict[str, bytes], str]] = {}

    def note(self) -> None:
        """Keep the models if there is a rollback to this position."""
        engine = self._engine
        if engine.position in self._wanted:
            engine.learn()
            models = {name: dumps(model.ranker) for name, model in engine.models.items()}
            self._models[engine.position] = models, engine.champion

    def replaces(self, record: Record) -> bool:
        """Return whether an entry holds a state that has what is left out."""
        entry = record.entry
        if isinstance(entry, RolledBack):
            return (self._redoes and bool(entry.without)) or entry.to in self._models
        if isinstance(entry, Quarantined):
            return entry.position > self._start
        return isinstance(entry, EpochStarted)

    def apply(self, record: Record) -> None:
        """Roll back to the models of this replay; pass other states over."""
        entry = record.entry
        if isinstance(entry, RolledBack) and entry.to in self._models:
            models, champion = self._models[entry.to]
            entry = msgspec.structs.replace(entry, models=models, champion=champion)
            self._engine.apply(Record(record.position, record.at, entry), check=False)
        else:
            self._engine.pass_over(record)
            if isinstance(entry, EpochStarted):
                self._engine.epoch = entry.engine


def find_quarantines(journal: Journal, after: int, until: int | None = None) -> dict[int, int]:
    """Return the positions of quarantined entries, each with that of its quarantine."""
    found = {}
    for record in journal.find_kind("quarantined"):
        entry, position = record.entry, record.position
        in_range = after < position and (until is None or position <= until)
        if isinstance(entry, Quarantined) and in_range and entry.after == position - 1:
            found[entry.position] = position
    return found


def replay(
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
    recent = EntryCache()
    fetch = make_fetch(recent, journal)
    engine = restore_engine(journal.states()[-1], fetch) if journal.base() else Engine(fetch)
    if until is not None and until < engine.position:
        raise JournalError(
            f"{journal.where}: cannot return to entry {until}, because the entries before "
            f"{engine.position} were compacted; choose a later one"
        )
    read = decode_ids if without is None else decode
    records = recent.follow(journal, engine.position, until, read)
    apply_all(engine, records, journal, until, without)
    return engine
