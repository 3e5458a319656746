"""The follower: it looks for entries of other processes, and maintains the store."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from rankloop.serving.journal.base import JournalError

if TYPE_CHECKING:
    import threading

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.recent import Recent
    from rankloop.serving.threads.progress import Progress

_log = logging.getLogger("rankloop.serving")

_TEND_AFTER = 4_000_000  # bytes of entries between two looks after the store
_PATIENCE = 0.5  # seconds to wait for others at a time


class Follower:
    """Watches a journal.

    Parameters
    ----------
    name : the name of the loop
    journal : only for this thread
    progress : the last position that this process knows
    recent : counts what was appended
    others : set if there are more entries
    """

    def __init__(
        self,
        name: str,
        journal: Journal,
        progress: Progress,
        recent: Recent,
        others: threading.Event,
    ) -> None:
        self._name, self._journal = name, journal
        self._progress, self._recent, self._others = progress, recent, others

    def run(self) -> None:
        """Work until the loop stops."""
        progress, recent = self._progress, self._recent
        tended = recent.added
        while not progress.stopping:
            try:
                if recent.added - tended > _TEND_AFTER:
                    tended = recent.added
                    self._journal.tend()
                self._journal.wait(_PATIENCE)
                if self._journal.head() > progress.head:
                    self._others.set()
            except JournalError as error:
                _log.warning("loop %s: cannot follow the journal: %s", self._name, error)
                time.sleep(1)
