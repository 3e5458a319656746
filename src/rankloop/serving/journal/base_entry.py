"""What all entries of a journal have in common."""

from __future__ import annotations

import msgspec


class BaseEntry(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """An entry; it never changes."""

    @property
    def key(self) -> str | None:
        """The key of this entry in the journal; None if equal entries may occur several times."""
        return None

    def identity(self, body: bytes) -> bytes:
        """Return bytes that are equal exactly if the same was sent; by default, the whole body."""
        return body
