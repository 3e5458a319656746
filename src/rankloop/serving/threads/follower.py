"""The follower: it looks for entries of other processes, and maintains the store."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from rankloop.serving.journal.base import JournalError

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.journal.cache import EntryCache
    from rankloop.serving.threads.progress import LoopProgress

_log = logging.getLogger("rankloop.serving")

_TEND_AFTER = 4_000_000  # bytes of entries between two rounds of maintenance
_PATIENCE = 0.5  # seconds to wait for others, before checking whether the loop stops


class Follower:
    """Tells the writer about entries of other processes, and does the maintenance of the store.

    Parameters
    ----------
    name : the name of the loop
    journal : only for this thread
    progress : the last position that this process knows
    recent : counts what was appended
    others : set when the journal has entries that this process does not know

    Attributes
    ----------
    unscrubbed : set while files may still show destroyed keys, because others read the journal
    """

    def __init__(
        self,
        name: str,
        journal: Journal,
        progress: LoopProgress,
        recent: EntryCache,
        others: threading.Event,
    ) -> None:
        self._name, self._journal = name, journal
        self._progress, self._recent, self._others = progress, recent, others
        self.unscrubbed = threading.Event()
        self.unscrubbed.set()  # a process may have ended before it was done

    def run(self) -> None:
        """Work until the loop stops."""
        progress, recent = self._progress, self._recent
        tended = recent.added
        scrubbed = 0.0
        while not progress.stopping:
            try:
                if self.unscrubbed.is_set() and time.monotonic() > scrubbed + _PATIENCE:
                    scrubbed = time.monotonic()
                    self.unscrubbed.clear()
                    if not self._journal.scrub():
                        self.unscrubbed.set()
                if recent.added - tended > _TEND_AFTER:
                    tended = recent.added
                    self._journal.tend()
                self._journal.wait(_PATIENCE)
                if self._journal.head() > progress.head:
                    self._others.set()
            except JournalError as error:
                _log.warning("loop %s: cannot follow the journal: %s", self._name, error)
                time.sleep(1)
