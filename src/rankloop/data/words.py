"""Numbers in words."""

from __future__ import annotations


def count(n: int, one: str, many: str) -> str:
    """Return a number with its noun, in the singular or plural.

    >>> count(1, "query", "queries"), count(2500, "query", "queries")
    ('1 query', '2,500 queries')
    """
    return f"{n:,} {one if n == 1 else many}"
