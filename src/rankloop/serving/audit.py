"""Who did what and when: the actions of operators, and those of the loop itself."""

from __future__ import annotations

import logging
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.journal.entries import (
    Configured,
    ExperimentEnded,
    ExperimentStarted,
    Forgotten,
    ModelAdded,
    Promoted,
    RolledBack,
)

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal, Record

_log = logging.getLogger("rankloop.acts")

_KEPT = 50


class ActInfo(msgspec.Struct, frozen=True):
    """An action, as its entry describes it.

    at : when it was journaled, in UTC
    by : the name of the token; `rankloop` if the loop itself acted
    what : the model, the experiment or the number of keys that it changed
    """

    position: int
    at: str
    by: str
    act: str
    what: str
    reason: str = ""


def as_act(record: Record) -> ActInfo | None:
    """Return an entry as an action; None if it is not one."""
    entry, what, reason, by = record.entry, "", "", ""
    if isinstance(entry, Configured):
        name, what = "configured", "the settings"
    elif isinstance(entry, ModelAdded):
        name, what, by = "added", entry.name, entry.by
    elif isinstance(entry, Promoted):
        name, what, reason, by = "promoted", entry.model, entry.reason, entry.by
    elif isinstance(entry, RolledBack):
        name, what, reason, by = "rolled back", ", ".join(entry.models), entry.reason, entry.by
    elif isinstance(entry, ExperimentStarted):
        what, by = f"{entry.id}: {', '.join(entry.challengers)}", entry.by
        name = "experiment started"
    elif isinstance(entry, ExperimentEnded):
        name, what, reason, by = "experiment ended", entry.id, entry.reason, entry.by
    elif isinstance(entry, Forgotten):
        n = len(entry.keys)
        name, what, by = "forgot", f"{n} key{'s' * (n != 1)}", entry.by
    else:
        return None
    at = datetime.fromtimestamp(record.at / 1000, UTC).isoformat(timespec="seconds")
    return ActInfo(record.position, at, by or "rankloop", name, what, reason)


def acts_of(journal: Journal, limit: int = _KEPT) -> list[ActInfo]:
    """Return the last actions of a journal, oldest first."""
    found = (as_act(record) for record in journal.acts(limit))
    return [act for act in found if act is not None]


class Acts:
    """The last actions in a loop, by any process."""

    def __init__(self, journal: Journal) -> None:
        self._last = deque(acts_of(journal), _KEPT)

    def note(self, record: Record) -> None:
        """Record an entry; actions go to the log, without the reasons that people gave."""
        act = as_act(record)
        if act is not None:
            self._last.append(act)
            fields = {"position": act.position, "by": act.by, "act": act.act, "what": act.what}
            _log.info("%s %s", act.act, act.what, extra={"fields": fields})

    def last(self) -> list[ActInfo]:
        """Return them, oldest first."""
        return list(self._last)
