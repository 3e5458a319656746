"""The progress of a loop in this process; its threads share it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rankloop.serving.journal.base import with_id_alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.serving.engine.state import Published
    from rankloop.serving.journal.base import Record

_MAX_FRESH = 20_000  # records, some 6 MB; if learning is further behind, it reads the journal


class LoopProgress:
    """The last durable entry, and what has been learnt so far.

    head : position of the last entry that this process knows to be durable
    published : the models for ranking
    leads : whether this process closes windows
    fault : the error that ended a thread, and thereby the loop
    stopping : whether the loop stops
    unwritten : when the store last failed to take entries (on the monotonic clock), and why
    changed : notified whenever `head`, `published` or `fault` changes
    """

    def __init__(self, head: int, published: Published) -> None:
        self.head, self.published = head, published
        self.leads = False
        self.fault: Exception | None = None
        self.stopping = False
        self.unwritten: tuple[float, str] | None = None
        self.changed = threading.Condition()
        self._fresh: list[Record] = []

    def add_durable(self, head: int, records: Sequence[Record] = ()) -> None:
        """Record that entries up to this position are durable; hand them to the learning thread.

        Of rankings, only the id is kept, because few of them are ever learnt from.
        """
        with self.changed:
            self.head = head
            if len(self._fresh) + len(records) > _MAX_FRESH:
                self._fresh = []
            else:
                self._fresh += [with_id_alone(record) for record in records]
            self.changed.notify_all()

    def take(self, after: int, max_records: int) -> list[Record]:
        """Return records after a position, if they are here. The caller must hold the condition."""
        fresh = self._fresh
        if fresh:
            del fresh[: max(after + 1 - fresh[0].position, 0)]
        if not fresh or fresh[0].position != after + 1:
            return []
        taken = fresh[:max_records]
        del fresh[:max_records]
        return taken

    def publish(self, published: Published) -> None:
        """Publish new models for ranking."""
        with self.changed:
            self.published = published
            self.changed.notify_all()

    def fail(self, error: Exception) -> None:
        """Record the error that ended a thread, and wake all who wait."""
        with self.changed:
            self.fault = error
            self.changed.notify_all()

    def wait_for_entry(self, position: int, timeout: float) -> bool:
        """Wait until the entry at a position has been learnt from and published."""
        with self.changed:
            done = self.changed.wait_for(
                lambda: self.published.position >= position or self.fault is not None, timeout
            )
        if self.fault is not None:
            raise self.fault
        return done
