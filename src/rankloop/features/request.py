"""What is known about a request when its items are ranked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Request:
    """The context of a ranking, or of an event that belongs to no ranking.

    user, session, query : keyed hashes of personal values, made by the caller; None if unknown
    fields : fields of the request that are not personal (a device, an image), as they were sent
    text : texts for `match` by the name of their field; they are used while a matrix is computed
        and never stored

    >>> Request(user=b"u1", fields={"device": "phone"}).fields["device"]
    'phone'
    """

    user: bytes | None = None
    session: bytes | None = None
    query: bytes | None = None
    fields: Mapping[str, object] = field(default_factory=dict)
    text: Mapping[str, str] = field(default_factory=dict)
