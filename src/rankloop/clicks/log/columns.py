"""Which column of a click table is what: as the caller says, or by its usual name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop._utils.argument_names import argument
from rankloop._utils.messages import show_names
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROLES = {
    "query": ("query", "query_id", "qid", "user_query"),
    "document": (
        "document",
        "document_id",
        "doc_id",
        "docid",
        "item",
        "item_id",
        "product",
        "product_id",
    ),
    "clicked": ("clicked", "click", "clicks", "click_bool"),
    "position": ("position", "rank"),
    "page": ("page", "page_id", "session_id", "ranking_id", "impression_id"),
    "propensity": ("propensity",),
    "seen": ("seen",),
    "count": ("page_count",),
}
"""What a column of a click table can be, with its usual names."""
_NEEDED = ("query", "document", "clicked")


def find_roles(present: Sequence[str], given: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of each role: one, or several whose values together are the id of a page.

    >>> find_roles(["user", "minute", "query", "item", "click"], {"page": "user,minute"})["page"]
    ('user', 'minute')
    """
    unknown = [role for role in given if role not in ROLES]
    if unknown:
        raise DataError(f"there is no role {unknown[0]!r}; the roles are {show_names(list(ROLES))}")
    roles = {role: _named(role, text, present) for role, text in given.items()}
    taken = {name for names in roles.values() for name in names}
    for role, usual in ROLES.items():
        if role in given:
            continue
        fit = [name for name in present if name.lower() in usual and name not in taken]
        if len(fit) > 1:
            raise DataError(
                f"{show_names(fit)} could each be the {role}; pass {argument(role, fit[0])} or "
                "another to choose one"
            )
        if fit:
            roles[role] = (fit[0],)
        elif role in _NEEDED:
            raise DataError(
                f"no column is named {show_names(usual, ' or ')}; pass {argument(role)} to name "
                f"it; the columns are {show_names(present)}"
            )
    return roles


def _named(role: str, text: str, present: Sequence[str]) -> tuple[str, ...]:
    several = role == "page" and text not in present
    names = [name.strip() for name in text.split(",")] if several else [text]
    for name in names:
        if name not in present:
            raise DataError(f"there is no column {name!r}; the columns are {show_names(present)}")
    return tuple(names)
