"""Settings that keep a service safe: who may ask, how often, from which pages, what is kept."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from rankloop.exceptions import DataError

Scope = Literal["rank", "feedback", "admin", "metrics"]
Rate = Annotated[float, Meta(ge=0)]

LOCAL = ("127.0.0.1", "::1", "localhost")
"""Hosts that nobody else can reach."""

_ORIGIN = re.compile(r"https?://(\[[0-9a-f:]+\]|[a-z0-9.-]+)(:\d{1,5})?")


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the settings; keys that it does not know are errors."""


class TokenSettings(Section, frozen=True):
    """Who may do what: the SHA-256 of a token in hexadecimal digits, and its scopes."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    scopes: tuple[Scope, ...]


class PrivacySettings(Section, frozen=True):
    """What is kept of people.

    master_key_file : a file of master keys, one a line; the first protects what is new, and all
        can read. The variable RANKLOOP_MASTER_KEY takes its place. Without a master key, personal
        fields are not stored at all.
    """

    master_key_file: str = ""


class BrowserSettings(Section, frozen=True):
    """Feedback that pages send from browsers, without a token.

    origins : the pages that may, as https://shop.example; none by default
    types : what they may send; the loop's rules must know them, and must not multiply by `value`
    signing_key_file : a file of keys that sign ranking ids, one a line; the first signs, and all
        are accepted. The variable RANKLOOP_SIGNING_KEY takes its place
    signed_for : seconds for which a signed ranking id is good
    events_per_minute : that one address may send, and so teach
    """

    origins: tuple[str, ...] = ()
    types: tuple[str, ...] = ("click",)
    signing_key_file: str = ""
    signed_for: Annotated[int, Meta(ge=1)] = 3600
    events_per_minute: Annotated[float, Meta(gt=0)] = 60.0

    def check(self) -> None:
        """Raise where an origin is none."""
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                raise DataError(
                    f"origins: found {origin!r}, expected the scheme, the host in lower case and "
                    "the port if it is not the usual one, as https://shop.example"
                )


class LimitSettings(Section, frozen=True):
    """How much one client may ask of one process; 0 is no limit.

    A client is a token, or the address where none is given.

    requests_per_second : on average; for a moment twice as many
    events_per_second : of feedback, on average; for a moment ten seconds' worth
    most_clients : that are remembered; beyond, those longest unseen are forgotten
    """

    requests_per_second: Rate = 0.0
    events_per_second: Rate = 0.0
    most_clients: Annotated[int, Meta(ge=1)] = 10_000
