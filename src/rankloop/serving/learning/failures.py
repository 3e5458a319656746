"""Failures: what could not be done with an entry, so that the loop went on without it.

Whatever was accepted is replayed at every start. An error that ended the loop would therefore end
it again after every restart. So an error stops only what it happened to: one entry, one example, or
one model that learns from it. It is counted, at the same position on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.exceptions import DataError, MemoryLimitError, RankloopError
from rankloop.serving.journal.base import CompactedError, JournalError

if TYPE_CHECKING:
    from collections.abc import Callable

    Note = Callable[[int, str, Exception], None]

MAX_KEPT = 100
"""The latest failures of a loop that are remembered; all are counted."""


class DivergedError(RankloopError):
    """The state here is not the one that another process reached from the same entries."""


class NewerEngineError(DataError):
    """The journal was continued by a newer version of the engine."""


class Failure(msgspec.Struct, frozen=True):
    """One failure: the position of its entry, what failed, and the error."""

    position: int
    what: str
    error: str


def is_contained(error: Exception) -> bool:
    """Return whether an error comes from what was journaled, and not from this machine.

    A store that does not answer, a damaged file, too little memory and a state that differs from
    that of others stop the loop; a restart, or a backup, mends them.
    """
    if isinstance(error, CompactedError | MemoryLimitError):
        return True
    return not isinstance(error, JournalError | DivergedError | NewerEngineError | MemoryError)


def failure(position: int, what: str, error: Exception) -> Failure:
    """Return an error as a failure; a long message is cut."""
    return Failure(position, what, f"{type(error).__name__}: {error}"[:300])
