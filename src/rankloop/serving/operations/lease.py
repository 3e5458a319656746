"""Operations that no service may disturb."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.serving.journal.lease import EXPIRES

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal

_PAUSE = 0.2  # seconds


def take_lease(journal: Journal) -> None:
    """Take the lease, or raise if a service has it; wait for one whose process has ended."""
    end = time.monotonic() + EXPIRES + 1
    while not journal.lead():
        if time.monotonic() > end:
            raise DataError(
                f"{journal.where}: a service uses this journal; stop it first, because features "
                "are computed from the entries before each ranking"
            )
        time.sleep(_PAUSE)
