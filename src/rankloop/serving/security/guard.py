"""Who may do what: bearer tokens with scopes, of which only hashes are stored; and how often."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rankloop.serving.problems import HTTPProblem
from rankloop.serving.security.limits import Buckets, network
from rankloop.serving.settings.sections import LOCAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.serving.settings.sections import Scope
    from rankloop.serving.settings.service import Settings

ANYONE = "anyone"
"""The name of the client of a service without tokens."""


class Guard:
    """Accepts requests, or says why not; without tokens, everyone on this machine has all scopes.

    Pages of other sites must not use a browser of this machine or network to send requests. So a
    request from a page (it has an `Origin`) must come from a page of this service, and without
    tokens, the `Host` must be this machine.

    Parameters
    ----------
    settings : a service that other machines can reach has at least one token
    """

    def __init__(self, settings: Settings) -> None:
        self._tokens = [
            (token.name, token.sha256.encode(), frozenset(token.scopes))
            for token in settings.tokens
        ]
        self._hosts = {*LOCAL, settings.server.host}
        limits, max_clients = settings.limits, settings.limits.max_clients
        requests, events = limits.requests_per_second, limits.events_per_second
        self._requests = Buckets(requests, max(2 * requests, 1), max_clients) if requests else None
        self._events = Buckets(events, max(10 * events, 1), max_clients) if events else None

    def admit(
        self,
        headers: Mapping[bytes, bytes],
        address: str,
        scope: Scope | None,
        browsers: bool = False,
    ) -> str:
        """Return the name of the client; raise if it lacks the scope, or sends too many requests.

        `browsers` means that any page may send requests, because the route checks its origin.
        """
        if not browsers:
            self._check_page(headers.get(b"origin"), headers.get(b"host", b""))
        try:
            who = self._name(headers.get(b"authorization"), scope)
        except HTTPProblem:
            if self._requests is not None:
                self._requests.take(network(address))
            raise
        if self._requests is not None and (scope is not None or browsers):
            self._requests.take(client_name(who, address))
        return who

    def charge(self, client: str, events: int) -> None:
        """Count the events of a client; raise if they are too many."""
        if self._events is not None and events:
            self._events.take(client, events, "events")

    def _name(self, authorization: bytes | None, scope: Scope | None) -> str:
        if scope is None or not self._tokens:
            return ANYONE
        if authorization is None or not authorization.lower().startswith(b"bearer "):
            raise HTTPProblem(
                401, f"this needs a token of scope {scope}; send it as Authorization: Bearer TOKEN"
            )
        given = hashlib.sha256(authorization[7:].strip()).hexdigest().encode()
        client: tuple[str, frozenset[Scope]] | None = None
        for name, known, scopes in self._tokens:  # all of them, so that time tells nothing
            if hmac.compare_digest(given, known):
                client = name, scopes
        if client is None:
            raise HTTPProblem(401, "unknown token; ask the operator of this service for one")
        name, scopes = client
        if scope not in scopes:
            raise HTTPProblem(
                403,
                f"the token {name!r} does not have the scope {scope}; it has "
                f"{', '.join(sorted(scopes))}",
            )
        return name

    def _check_page(self, origin: bytes | None, host: bytes) -> None:
        if origin is not None and origin.partition(b"://")[2] != host:
            raise HTTPProblem(
                403,
                "the request comes from a page of another site; send it from your own server, or "
                "use tickets for feedback",
            )
        if not self._tokens and host and _hostname(host) not in self._hosts:
            raise HTTPProblem(
                403,
                f"the request is for the host {host.decode('latin-1')!r:.80}; without tokens, this "
                "service answers only requests to localhost; add [[tokens]]",
            )


def client_name(who: str, address: str) -> str:
    """Return the client for which limits are counted: the token, or the address without a token."""
    return network(address) if who == ANYONE else f"token {who}"


def _hostname(host: bytes) -> str | None:
    try:
        return urlsplit(f"//{host.decode('latin-1')}").hostname
    except ValueError:
        return None


def new_token() -> tuple[str, str]:
    """Return a new token, and the hash to put into the settings."""
    token = secrets.token_urlsafe(32)
    return token, hashlib.sha256(token.encode()).hexdigest()
