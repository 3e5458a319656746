"""Pieces of messages: numbers with their nouns, and lists of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def count(n: int, singular: str, plural: str) -> str:
    """Return a number with its noun, in the singular or plural.

    >>> count(1, "query", "queries"), count(2500, "query", "queries")
    ('1 query', '2,500 queries')
    """
    return f"{n:,} {singular if n == 1 else plural}"


def show_names(names: Sequence[str], joint: str = ", ") -> str:
    """List names for an error message, the first 20 of them."""
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return (joint.join(map(repr, names[:20])) or "none") + more
