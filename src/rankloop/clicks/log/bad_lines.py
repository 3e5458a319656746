"""Lines of a text log that cannot be read: the first stops, or all are left out and counted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rankloop._utils.messages import count

if TYPE_CHECKING:
    from rankloop.clicks.log.log import ClickLog
    from rankloop.exceptions import ParseError


@dataclass
class BadLines:
    """What could not be read.

    skip : whether to leave it out; else it is raised
    """

    skip: bool = False
    errors: list[str] = field(default_factory=list)

    def add(self, error: ParseError) -> None:
        """Take an error, or raise it."""
        if not self.skip:
            raise error
        self.errors.append(str(error))

    def noted(self, log: ClickLog) -> ClickLog:
        """Return a log whose notes say what was left out."""
        if not self.errors:
            return log
        lines = count(len(self.errors), "bad row", "bad rows")
        note = f"{lines} left out; the first: {self.errors[0]}"
        return replace(log, notes=(note, *log.notes))
