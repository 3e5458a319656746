"""Names under which users and installed packages register rankers and losses."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = re.compile(r"[a-z][a-z0-9-]*")


def check_name(kind: str, name: str) -> None:
    """Raise unless a name has only small letters, digits and hyphens."""
    if not _NAME.fullmatch(name):
        raise DataError(
            f"a {kind}'s name must consist of lower-case letters, digits and hyphens; "
            f"found {name!r}"
        )


def unknown_name_error(kind: str, name: object, known: Iterable[str]) -> DataError:
    """Return the error for an unknown name, with the known ones and the closest of them.

    >>> print(unknown_name_error("ranker", "slamm", ["slam", "mix"]))
    unknown ranker 'slamm'; did you mean 'slam'?; known: slam, mix
    """
    known = list(known)
    close = get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return DataError(f"unknown {kind} {name!r}{hint}; known: {', '.join(known)}")


@cache
def find_entry_points(group: str) -> dict[str, EntryPoint]:
    """Return what installed packages provide in a group of entry points, by name."""
    return {entry.name: entry for entry in entry_points(group=group)}
