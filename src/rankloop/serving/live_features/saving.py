"""Saved folds: features are restored from them and from the entries that followed.

A fold is saved in parts, because a catalogue may be large. The newest two are kept.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rankloop.exceptions import RankloopError
from rankloop.features.state import FeatureState
from rankloop.serving.engine.joins import Joins
from rankloop.serving.engine.state import ENGINE
from rankloop.serving.journal.base import JournalError
from rankloop.serving.journal.entries import digest_of
from rankloop.serving.live_features.fold import FeatureFold
from rankloop.serving.settings.loop import LoopSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.journal.entries import Entry

_log = logging.getLogger("rankloop.serving")

_HEAD = "fold"


class SavedFold(msgspec.Struct):
    """What a saved fold has beside the parts of its feature state.

    engine : the version of the arithmetic
    built : the settings that define its features
    settings, joins : after its last entry
    parts : the name and the digest of each part
    """

    engine: int
    position: int
    columns: int
    built: LoopSettings
    settings: LoopSettings
    joins: Joins
    misfits: int
    digests: dict[int, str]
    parts: list[tuple[str, bytes]]


class FoldCopy(NamedTuple):
    """A fold at one moment, to be saved while the fold goes on."""

    head: SavedFold
    parts: list[tuple[str, bytes]]

    @property
    def named_parts(self) -> list[tuple[str, bytes]]:
        """All parts, beginning with one that has the digests of the others."""
        digests = [(name, digest_of(body)) for name, body in self.parts]
        head = msgspec.structs.replace(self.head, parts=digests)
        return [(_HEAD, msgspec.msgpack.encode(head)), *self.parts]


def copy_fold(fold: FeatureFold, settings: LoopSettings, joins: Joins) -> FoldCopy:
    """Return a copy of a fold, with the settings and the joins after its last entry.

    Cost: a copy of the catalogue and of all counters.
    """
    head = SavedFold(
        ENGINE,
        fold.position,
        fold.columns,
        fold.settings,
        settings,
        msgspec.msgpack.decode(msgspec.msgpack.encode(joins), type=Joins),
        fold.misfits,
        dict(fold.digests),
        [],
    )
    return FoldCopy(head, list(fold.state.to_parts()))


class RestoredFold:
    """A fold with the settings and the joins after its last entry."""

    def __init__(self, fold: FeatureFold, settings: LoopSettings, joins: Joins) -> None:
        self.fold, self.settings, self.joins = fold, settings, joins


def restore_fold(
    journal: Journal,
    settings: LoopSettings,
    fetch: Callable[[int], Entry],
    until: int | None = None,
) -> RestoredFold | None:
    """Return the newest saved fold with the features of these settings; None without one."""
    for position in journal.fold_positions(until):
        try:
            restored = _restore(journal, position, settings, fetch)
        except RankloopError as error:
            _log.warning("%s; older features, or a replay, are used instead", error)
            continue
        if restored is not None:
            return restored
    return None


def _restore(
    journal: Journal, position: int, settings: LoopSettings, fetch: Callable[[int], Entry]
) -> RestoredFold | None:
    parts = journal.fold_parts(position)
    where = f"{journal.where}: the features saved after entry {position}"
    try:
        _, body = next(parts)
        head = msgspec.msgpack.decode(body, type=SavedFold)
    except (StopIteration, msgspec.MsgspecError, UnicodeDecodeError):
        raise JournalError(f"{where} are damaged") from None
    if head.engine != ENGINE or head.built.feature_rules != settings.feature_rules:
        return None
    bodies = list(parts)
    if [(name, digest_of(body)) for name, body in bodies] != head.parts:
        raise JournalError(f"{where} are damaged")
    state = FeatureState.from_parts(settings.definitions, bodies)
    fold = FeatureFold(settings, head.columns, fetch, state)
    fold.position, fold.misfits, fold.digests = head.position, head.misfits, head.digests
    return RestoredFold(fold, head.settings, head.joins)
