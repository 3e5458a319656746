"""Entries for features that a loop computes: items, users, and events outside of rankings.

People appear only as keyed hashes (`live_features/keys.py`), so that nobody can be recognised in
the entries once the key is gone.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from rankloop.serving.journal.base_entry import BaseEntry, canonical

Mode: TypeAlias = Literal["put", "patch", "delete"]
"""Whether new fields replace all earlier ones, are merged with them, or all are removed."""


class Asker(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who asked, and about what: keyed hashes of the user, the session and the query's text.

    fields : fields of the request that are not personal, such as the device
    """

    user: bytes | None = None
    session: bytes | None = None
    query: bytes | None = None
    fields: dict[str, Any] = {}


class Computed(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the features of a ranking were computed, so that they can be computed again.

    at : the time, in milliseconds since 1970
    after : position of the last entry that items, users and counters knew
    columns : position of the settings that say which columns there are
    sent : a digest of what the caller sent, apart from items and personal fields
    asker : who asked
    """

    at: int
    after: int
    columns: int
    sent: bytes
    asker: Asker = Asker()


class ItemsChanged(BaseEntry, frozen=True, tag="items_changed"):
    """Fields of items, many in one entry; None where an item is removed."""

    id: str
    mode: Mode
    items: list[tuple[str, dict[str, Any] | None]]

    @property
    def key(self) -> str:
        """The id of the change; a change that is sent again is stored once."""
        return f"change:{self.id}"

    def identity(self, body: bytes) -> bytes:  # noqa: ARG002
        """Return the change without the order in which fields were sent."""
        return canonical((self.id, self.mode, self.items))


class UsersChanged(BaseEntry, frozen=True, tag="users_changed"):
    """Fields of users, by the keyed hashes of their ids; None where a user is removed."""

    id: str
    mode: Mode
    users: list[tuple[bytes, dict[str, Any] | None]]

    @property
    def key(self) -> str:
        """The id of the change; a change that is sent again is stored once."""
        return f"change:{self.id}"

    def identity(self, body: bytes) -> bytes:  # noqa: ARG002
        """Return the change without the order in which fields were sent."""
        return canonical((self.id, self.mode, self.users))


class Counted(BaseEntry, frozen=True, tag="counted"):
    """An action on an item outside of any ranking, such as a checkout: it changes only counters."""

    id: str
    item: str
    type: str = "click"
    value: float = 1.0
    timestamp: float | None = None
    asker: Asker = Asker()

    @property
    def key(self) -> str:
        """The id of the event."""
        return f"event:{self.id}"

    def identity(self, body: bytes) -> bytes:
        """Return the event without the order in which fields were sent."""
        if not self.asker.fields:
            return body
        asker = (self.asker.user, self.asker.session, self.asker.query, self.asker.fields)
        return canonical((self.id, self.item, self.type, self.value, self.timestamp, asker))
