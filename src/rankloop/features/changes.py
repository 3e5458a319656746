"""Changes of the catalogue: fields of an item or a user that are put, patched or deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Mode = Literal["put", "patch", "delete"]
Side = Literal["items", "users"]


@dataclass(frozen=True)
class Change:
    """One change of one item or user.

    id : of the item; for users, the keyed hash that requests carry
    fields : the new values by name; None is a missing value
    mode : `put` replaces all fields, `patch` only those that are given, `delete` removes all
    """

    id: str | bytes
    fields: Mapping[str, object] | None = None
    mode: Mode = "put"
