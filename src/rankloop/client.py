"""Clients of the live loop: :class:`Client` waits for answers, :class:`AsyncClient` is for asyncio.

They need httpx and msgspec. A request is sent again if the service is busy or the connection
breaks. It keeps its ids then, so that the service counts it once. Features without names are sent
as one block of float32 in MessagePack, and features with names as JSON.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.exceptions import DataError, MissingExtraError, RankloopError
from rankloop.feedback.ids import new_id

if TYPE_CHECKING:
    from types import ModuleType

    import httpx

    from rankloop.feedback.events import Feedback, Judgement

    Features = Iterable[float] | Mapping[str, float]
    Changes = Mapping[str, Mapping[str, object]] | Iterable[str]

_AGAIN = (429, 502, 503, 504)
_CHANGES = 5_000  # items that are sent in one request


class ServiceError(RankloopError):
    """The service refused a request, or cannot be reached.

    status : the status of HTTP, or 0 if there was no answer
    document : the service's description of the problem
    """

    def __init__(self, status: int, document: Mapping[str, object]) -> None:
        super().__init__(str(document.get("detail") or f"the service answered {status}"))
        self.status, self.document = status, document


@dataclass(frozen=True)
class RankingAnswer:
    """A ranking as the service answers it.

    ranking_id : the id that feedback refers to
    ids, scores : the items and their scores, best first
    model, version, policy : the model that ranked, its version, and the policy
    position : the position of the ranking in the journal
    answer : the whole answer
    """

    ranking_id: str
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    model: str
    version: int
    policy: str
    position: int
    answer: Mapping[str, object]

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> Self:
        """Make a ranking from the answer of the service."""
        return cls(
            answer["ranking_id"],
            tuple(item["id"] for item in answer["items"]),
            tuple(item["score"] for item in answer["items"]),
            answer["model"],
            answer["model_version"],
            answer["policy"],
            answer["position"],
            answer,
        )


class _Requests:
    """The requests that both clients send."""

    def __init__(
        self,
        url: str,
        loop: str | None = None,
        token: str | None = None,
        retries: int = 5,
        timeout: float = 30.0,
    ) -> None:
        self.url, self.loop, self.retries = url, loop, retries
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._options: dict[str, object] = {"base_url": url, "headers": headers, "timeout": timeout}

    def _rank(
        self, items: Mapping[str, Features] | Iterable[str], more: Mapping[str, object]
    ) -> dict[str, object] | bytes:
        given = {name: value for name, value in more.items() if value is not None}
        request: dict[str, object] = {"id": new_id(), **given}
        if not isinstance(items, Mapping):
            return {**request, "items": list(items)}
        rows = [
            dict(row) if isinstance(row, Mapping) else [float(x) for x in row]
            for row in items.values()
        ]
        if any(isinstance(row, dict) or len(row) != len(rows[0]) for row in rows):
            candidates = zip(items, rows, strict=True)
            request["items"] = [{"id": name, "features": row} for name, row in candidates]
            return request
        with np.errstate(over="ignore"):  # the service says which value is too large
            block = np.array(rows, "<f4").tobytes()
        request |= {"items": list(items), "features": block}
        packed: bytes = _need("msgspec").msgpack.encode(request)
        return packed

    def _feedback(self, events: Iterable[Feedback]) -> dict[str, object]:
        return {"events": [_event_fields(event) for event in events]}

    def _changes(self, method: str, changes: Changes) -> bytes:
        """Return changes as lines of JSON."""
        if method == "DELETE":
            return "\n".join(json.dumps(name) for name in changes).encode()
        if not isinstance(changes, Mapping):
            raise DataError("give fields by id, as in {'a': {'price': 9.5}}")
        lines = (json.dumps({"id": k, "fields": dict(v)}) for k, v in changes.items())
        return "\n".join(lines).encode()

    def _path(self, what: str) -> str:
        return f"/v1/{self.loop}/{what}" if what else f"/v1/{self.loop}"

    def _pause(self, attempt: int, answer: httpx.Response | None) -> float:
        """Return how many seconds to wait before the next attempt.

        The pause doubles with each attempt. It is at least as long as the service asks for, up to
        30 seconds.
        """
        asked = "" if answer is None else answer.headers.get("retry-after", "")
        wished = float(asked) if asked.isdigit() else 0.0
        return max(float(min(0.1 * 2**attempt, 5.0)), min(wished, 30.0))


class Client(_Requests):
    """A client that waits for each answer.

    Parameters
    ----------
    url : the address of the service
    loop : the name of one of its loops; it may be left out if there is only one
    token : the access token, if the service needs one
    retries : how often to send a request again if the service is busy or cannot be reached
    timeout : how many seconds to wait for an answer

    Examples
    --------
    ::

        with Client("http://127.0.0.1:8080", "products") as client:
            shown = client.rank({"a": [0.3, 1.0], "b": [0.9, 0.2]}, query="shoes")
            client.feedback([Feedback(shown.ranking_id, shown.ids[0])])
    """

    def __init__(self, url: str, loop: str | None = None, **options: Any) -> None:
        super().__init__(url, loop, **options)
        self._http = _need("httpx").Client(**self._options)

    def rank(self, items: Mapping[str, Features] | Iterable[str], **more: object) -> RankingAnswer:
        """Rank items; `more` has other fields of the request.

        Items are a mapping from ids to features, or only ids if the loop computes features.
        """
        return RankingAnswer.read(self.send("POST", "rank", self._rank(items, more)))

    def feedback(self, events: Iterable[Feedback]) -> list[str]:
        """Send events, and return the status of each: what the service did with it."""
        answer = self.send("POST", "feedback", self._feedback(events))
        return [event["status"] for event in answer["events"]]

    def change(self, kind: str, changes: Changes, method: str = "PUT") -> int:
        """Change the fields of `items` or `users`, and return how many were changed.

        Parameters
        ----------
        changes : fields by id; only ids with `DELETE`
        method : `PUT` replaces all fields, `PATCH` only those that are given, `DELETE` removes them
        """
        body, changed = list(changes.items() if isinstance(changes, Mapping) else changes), 0
        for first in range(0, len(body), _CHANGES):
            part: Any = body[first : first + _CHANGES]
            part = dict(part) if isinstance(changes, Mapping) else part
            answer = self.send(method, kind, content=self._changes(method, part))
            changed += answer["changed"]
        return changed

    def judge(self, judgement: Judgement) -> str:
        """Send a judgement, and return its status: what the service did with it."""
        return str(self.send("POST", "judgements", _event_fields(judgement))["status"])

    def forget(self, **whom: str) -> int:
        """Forget a `user`, a `session`, or the person who saw a `ranking_id`.

        The keys of their personal data are destroyed, so that nobody can read it any more. Return
        the number of these keys. This needs a token with the scope admin.
        """
        return int(self.send("POST", "forget", {"id": new_id(), **whom})["keys"])

    def state(self) -> dict[str, Any]:
        """Return the state of the loop."""
        answer: dict[str, object] = self.send("GET", "")
        return answer

    def send(
        self, method: str, what: str, body: object = None, content: bytes | None = None
    ) -> Any:
        """Send any request about the loop, and return the answer.

        A `body` of bytes is sent as MessagePack, any other one as JSON; `content` is sent as it is.
        If the service is busy or cannot be reached, the request is sent again after a pause.
        """
        if self.loop is None:
            self.loop = _only_loop(self._send("GET", "/v1", {}), self.url)
        return self._send(method, self._path(what), _request_body(body, content))

    def _send(self, method: str, path: str, sent: Mapping[str, Any]) -> Any:
        for attempt in range(self.retries + 1):
            last, answer = attempt == self.retries, None
            try:
                answer = self._http.request(method, path, **sent)
            except _need("httpx").TransportError as error:
                if last:
                    raise _unreachable_error(self.url, error) from error
            else:
                if last or answer.status_code not in _AGAIN:
                    return _read_answer(answer)
            time.sleep(self._pause(attempt, answer))
        raise AssertionError  # the last attempt returns or raises

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Requests):
    """A client for asyncio, with the parameters and methods of :class:`Client`."""

    def __init__(self, url: str, loop: str | None = None, **options: Any) -> None:
        super().__init__(url, loop, **options)
        self._http = _need("httpx").AsyncClient(**self._options)

    async def rank(
        self, items: Mapping[str, Features] | Iterable[str], **more: object
    ) -> RankingAnswer:
        """Rank items; `more` has other fields of the request.

        Items are a mapping from ids to features, or only ids if the loop computes features.
        """
        return RankingAnswer.read(await self.send("POST", "rank", self._rank(items, more)))

    async def feedback(self, events: Iterable[Feedback]) -> list[str]:
        """Send events, and return the status of each: what the service did with it."""
        answer = await self.send("POST", "feedback", self._feedback(events))
        return [event["status"] for event in answer["events"]]

    async def change(self, kind: str, changes: Changes, method: str = "PUT") -> int:
        """Change the fields of items or users, as :meth:`Client.change` does."""
        body, changed = list(changes.items() if isinstance(changes, Mapping) else changes), 0
        for first in range(0, len(body), _CHANGES):
            part: Any = body[first : first + _CHANGES]
            part = dict(part) if isinstance(changes, Mapping) else part
            answer = await self.send(method, kind, content=self._changes(method, part))
            changed += answer["changed"]
        return changed

    async def judge(self, judgement: Judgement) -> str:
        """Send a judgement, and return its status: what the service did with it."""
        return str((await self.send("POST", "judgements", _event_fields(judgement)))["status"])

    async def forget(self, **whom: str) -> int:
        """Forget somebody, as :meth:`Client.forget` does."""
        return int((await self.send("POST", "forget", {"id": new_id(), **whom}))["keys"])

    async def state(self) -> dict[str, Any]:
        """Return the state of the loop."""
        answer: dict[str, object] = await self.send("GET", "")
        return answer

    async def send(
        self, method: str, what: str, body: object = None, content: bytes | None = None
    ) -> Any:
        """Send any request about the loop, as :meth:`Client.send` does."""
        if self.loop is None:
            self.loop = _only_loop(await self._send("GET", "/v1", {}), self.url)
        return await self._send(method, self._path(what), _request_body(body, content))

    async def _send(self, method: str, path: str, sent: Mapping[str, Any]) -> Any:
        for attempt in range(self.retries + 1):
            last, answer = attempt == self.retries, None
            try:
                answer = await self._http.request(method, path, **sent)
            except _need("httpx").TransportError as error:
                if last:
                    raise _unreachable_error(self.url, error) from error
            else:
                if last or answer.status_code not in _AGAIN:
                    return _read_answer(answer)
            await asyncio.sleep(self._pause(attempt, answer))
        raise AssertionError  # the last attempt returns or raises

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _only_loop(answer: Mapping[str, Any], url: str) -> str:
    loops = answer["loops"]
    if len(loops) > 1:
        raise DataError(f"{url} has several loops; give the name of one: {', '.join(loops)}")
    return str(loops[0])


def _event_fields(event: Feedback | Judgement) -> dict[str, object]:
    plain = event.to_dict()
    plain["event_id"] = plain.pop("id")
    return plain


def _read_answer(answer: httpx.Response) -> Any:
    try:
        content = answer.json()
    except ValueError:
        content = {"detail": answer.text[:500]}
    if answer.status_code >= 400:
        raise ServiceError(answer.status_code, content if isinstance(content, dict) else {})
    return content


def _unreachable_error(url: str, error: Exception) -> ServiceError:
    return ServiceError(0, {"detail": f"the service at {url} cannot be reached: {error}"})


def _request_body(body: object, content: bytes | None) -> dict[str, object]:
    if isinstance(body, bytes):
        return {"content": body, "headers": {"content-type": "application/msgpack"}}
    return {"json": body, "content": content}


def _need(package: str) -> ModuleType:
    """Import a package that only the clients need."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingExtraError(package, "serve", "the client of the live loop") from None
