"""Who did what and when: the actions of operators, and those of the loop itself."""

from __future__ import annotations

import logging
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.journal.action_entries import (
    Compacted,
    Configured,
    ExperimentEnded,
    ExperimentStarted,
    Forgotten,
    ModelAdded,
    ModelRemoved,
    Promoted,
    Quarantined,
    Retried,
    RolledBack,
)

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal, Record

_log = logging.getLogger("rankloop.actions")

_KEPT = 50


class Action(msgspec.Struct, frozen=True):
    """An action, as its entry describes it.

    at : when it was journaled, in UTC
    by : the name of the token; `rankloop` if the loop itself acted
    what : the model, the experiment or the number of keys that it changed
    """

    position: int
    at: str
    by: str
    action: str
    what: str
    reason: str = ""


def as_action(record: Record) -> Action | None:
    """Return an entry as an action; None if it is not one."""
    entry, what, reason, by = record.entry, "", "", ""
    if isinstance(entry, Configured):
        name, what = "configured", "the settings"
    elif isinstance(entry, ModelAdded):
        name, what, by = "added", entry.name, entry.by
    elif isinstance(entry, ModelRemoved):
        name, what, by = "removed", entry.name, entry.by
    elif isinstance(entry, Promoted):
        name, what, reason, by = "promoted", entry.model, entry.reason, entry.by
    elif isinstance(entry, RolledBack):
        name, what, reason, by = "rolled back", ", ".join(entry.models), entry.reason, entry.by
    elif isinstance(entry, ExperimentStarted):
        what, by = f"{entry.id}: {', '.join(entry.challengers)}", entry.by
        name = "experiment started"
    elif isinstance(entry, ExperimentEnded):
        name, what, reason, by = "experiment ended", entry.id, entry.reason, entry.by
    elif isinstance(entry, Quarantined):
        name, what, reason, by = "quarantined", f"entry {entry.position}", entry.reason, entry.by
    elif isinstance(entry, Retried):
        name, what, by = "retried", f"entry {entry.position}", entry.by
    elif isinstance(entry, Compacted):
        name, what = "compacted", f"entries up to {entry.until}"
    elif isinstance(entry, Forgotten):
        n = len(entry.keys)
        name, what, by = "forgot", f"{n} key{'s' * (n != 1)}", entry.by
    else:
        return None
    at = datetime.fromtimestamp(record.at / 1000, UTC).isoformat(timespec="seconds")
    return Action(record.position, at, by or "rankloop", name, what, reason)


def read_actions(journal: Journal, limit: int = _KEPT) -> list[Action]:
    """Return the last actions of a journal, oldest first."""
    actions = (as_action(record) for record in journal.actions(limit))
    return [action for action in actions if action is not None]


class ActionLog:
    """The last actions in a loop, by any process."""

    def __init__(self, journal: Journal) -> None:
        self._last = deque(read_actions(journal), _KEPT)

    def note(self, record: Record) -> None:
        """Record an entry; actions go to the log, without the reasons that people gave."""
        action = as_action(record)
        if action is not None:
            self._last.append(action)
            fields = {
                "position": action.position,
                "by": action.by,
                "action": action.action,
                "what": action.what,
            }
            _log.info("%s %s", action.action, action.what, extra={"fields": fields})

    def last(self) -> list[Action]:
        """Return them, oldest first."""
        return list(self._last)
