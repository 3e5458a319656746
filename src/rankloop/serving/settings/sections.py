"""Sections of the settings: who may send requests, how often, from which pages, what is stored."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from rankloop.exceptions import DataError

Scope = Literal["rank", "feedback", "admin", "metrics"]
Rate = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]

LOCAL = ("127.0.0.1", "::1", "localhost")
"""Hosts that other machines cannot reach."""

_ORIGIN = re.compile(r"https?://(\[[0-9a-f:]+\]|[a-z0-9.-]+)(:\d{1,5})?")


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the settings; unknown keys are errors."""


class TokenSettings(Section, frozen=True):
    """Who may do what: the SHA-256 of a token in hexadecimal digits, and its scopes."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    scopes: tuple[Scope, ...]


class PrivacySettings(Section, frozen=True):
    """What is stored about people.

    master_key_file : a file of master keys, one per line; the first encrypts new keys, and all
        decrypt. The variable RANKLOOP_MASTER_KEY replaces it. Without a master key, personal fields
        are not stored at all.
    """

    master_key_file: str = ""


class BrowserSettings(Section, frozen=True):
    """Feedback that pages send from browsers, without a token.

    origins : the pages that may send it, such as https://shop.example; none by default
    types : what they may send; the loop must have rules for them, which do not multiply by `value`
    signing_key_file : a file of keys that sign ranking ids, one per line; the first signs, and all
        are accepted. The variable RANKLOOP_SIGNING_KEY replaces it
    signed_for : seconds for which a signed ranking id is valid
    events_per_minute : how many events one address may send
    """

    origins: tuple[str, ...] = ()
    types: tuple[str, ...] = ("click",)
    signing_key_file: str = ""
    signed_for: Annotated[int, Meta(ge=1)] = 3600
    events_per_minute: Annotated[float, Meta(gt=0)] = 60.0

    def check(self) -> None:
        """Raise if an origin is not valid."""
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                raise DataError(
                    f"origins: found {origin!r}, expected the scheme, the host in lower case and "
                    "the port if it is not the default one, such as https://shop.example"
                )


class LimitSettings(Section, frozen=True):
    """How much one client may send to one process; 0 means no limit.

    A client is a token, or an address without a token.

    requests_per_second : on average; twice as many for a short time
    events_per_second : of feedback, on average; ten times as many for a short time
    max_clients : number of clients that are remembered; the one seen least recently is forgotten
    """

    requests_per_second: Rate = 0.0
    events_per_second: Rate = 0.0
    max_clients: Annotated[int, Meta(ge=1)] = 10_000
