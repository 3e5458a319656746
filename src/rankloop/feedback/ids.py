"""New ids that are unique and sort by the time of their creation."""

from __future__ import annotations

import os
import time

_AT_ONCE = 512
_random: list[bytes] = []  # unused random numbers, ten bytes each
if hasattr(os, "register_at_fork"):  # or both processes would give the same ids
    os.register_at_fork(after_in_child=_random.clear)


def new_id() -> str:
    """Return a new id, a UUID of version 7: milliseconds since 1970, then 74 random bits.

    Later ids sort after earlier ones (to the millisecond), so a store keeps recent ids together.
    Only this function reads the clock and the system's random numbers; nothing that is learnt
    depends on them.

    >>> first = new_id()
    >>> len(first), first[14]
    (36, '7')

    References
    ----------
    RFC 9562, section 5.7.
    """
    random = _take_random()
    now, text = f"{time.time_ns() // 1_000_000:012x}", random.hex()
    variant = "89ab"[random[9] & 3]
    return f"{now[:8]}-{now[8:]}-7{text[:3]}-{variant}{text[3:6]}-{text[6:18]}"


def _take_random() -> bytes:
    """Return ten random bytes.

    Each call of the system lets other threads of Python go first, so many are fetched together.
    """
    try:
        return _random.pop()
    except IndexError:
        many = os.urandom(10 * _AT_ONCE)
        _random.extend(many[k : k + 10] for k in range(10, len(many), 10))
        return many[:10]
