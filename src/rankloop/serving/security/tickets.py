"""Tickets: signed ranking ids for browsers, which expire."""

from __future__ import annotations

import base64
import hmac
import time
from typing import TYPE_CHECKING

from rankloop.serving.problems import HTTPProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Tickets:
    """Signs ranking ids by HMAC-SHA256, and checks tickets.

    A ticket is `RANKING.EXPIRY.SIGNATURE`; it is valid for one loop. To change keys, put the new
    one first, and remove the old one after `seconds` have passed.

    Parameters
    ----------
    keys : the first signs, all are accepted
    seconds : how long a ticket is valid
    clock : seconds since 1970

    Examples
    --------
    >>> tickets = Tickets([bytes(32)], 60, clock=lambda: 1000.0)
    >>> ticket = tickets.sign("shop", "r1")
    >>> ticket[:7], tickets.ranking("shop", ticket)
    ('r1.424.', 'r1')
    """

    def __init__(
        self, keys: Sequence[bytes], seconds: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._keys, self._seconds, self._clock = tuple(keys), seconds, clock

    def sign(self, loop: str, ranking_id: str) -> str:
        """Return the ticket of a ranking."""
        expiry = f"{int(self._clock() + self._seconds):x}"
        return f"{ranking_id}.{expiry}.{_signature(self._keys[0], loop, ranking_id, expiry)}"

    def ranking(self, loop: str, ticket: str) -> str:
        """Return the ranking of a ticket; raise if it is not valid, or has expired."""
        ranking_id, _, rest = ticket.rpartition(".")[0].rpartition(".")
        expiry, signature = rest, ticket.rpartition(".")[2]
        good = False
        for key in self._keys:
            expected = _signature(key, loop, ranking_id, expiry)
            good |= hmac.compare_digest(expected.encode(), signature.encode())
        if not good:
            raise HTTPProblem(
                403, "the ticket is not valid; send the one from the answer to `rank`"
            )
        if int(expiry, 16) < self._clock():
            raise HTTPProblem(
                403,
                "the ticket has expired; feedback on this ranking is no longer accepted from "
                "browsers",
            )
        return ranking_id


def _signature(key: bytes, loop: str, ranking_id: str, expiry: str) -> str:
    parts = "\0".join(("rankloop ticket", loop, ranking_id, expiry))  # ids hold no \0
    mac = hmac.digest(key, parts.encode(), "sha256")[:16]
    return base64.urlsafe_b64encode(mac).decode().rstrip("=")
