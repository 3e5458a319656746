"""Who may do what: bearer tokens with scopes, of which only hashes are stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from rankloop.serving.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.serving.config import Scope, TokenSettings


class Guard:
    """Tells whether a request's token has a scope; without any tokens, everyone has all.

    Parameters
    ----------
    tokens : the settings' own; a service that others can reach has at least one
    """

    def __init__(self, tokens: Sequence[TokenSettings]) -> None:
        self._tokens = [(one.name, one.sha256.encode(), frozenset(one.scopes)) for one in tokens]

    def check(self, authorization: bytes | None, scope: Scope | None) -> str:
        """Return the name of who asks; raise where the scope is not theirs."""
        if scope is None or not self._tokens:
            return "anyone"
        if authorization is None or not authorization.lower().startswith(b"bearer "):
            raise Problem(
                401, f"this needs a token of scope {scope}; send it as Authorization: Bearer TOKEN"
            )
        given = hashlib.sha256(authorization[7:].strip()).hexdigest().encode()
        found = None
        for name, known, scopes in self._tokens:  # all of them, so that time tells nothing
            if hmac.compare_digest(given, known):
                found = name, scopes
        if found is None:
            raise Problem(401, "the token is not known; ask whoever runs this service for one")
        if scope not in found[1]:
            raise Problem(
                403,
                f"the token {found[0]!r} is not for {scope}, but for {', '.join(sorted(found[1]))}",
            )
        return found[0]


def new_token() -> tuple[str, str]:
    """Return a new token, and the hash to put into the settings."""
    token = secrets.token_urlsafe(32)
    return token, hashlib.sha256(token.encode()).hexdigest()
