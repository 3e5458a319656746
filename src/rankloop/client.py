"""A client of the live loop, for programs that wait and for those that do not.

It needs httpx and msgspec. What is sent again, because the service was busy or the connection
broke, carries the ids it had before, so that it counts once. Features that are arrays go as one
block of float32 in MessagePack, those with names as JSON.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.exceptions import MissingExtraError, RankloopError
from rankloop.feedback.ids import new_id

if TYPE_CHECKING:
    from types import ModuleType

    import httpx

    from rankloop.feedback.events import Feedback, Judgement

    Features = Iterable[float] | Mapping[str, float]

_AGAIN = (429, 502, 503, 504)


class ServiceError(RankloopError):
    """The service refused a request; `status` is HTTP's, `document` the problem it told of."""

    def __init__(self, status: int, document: Mapping[str, object]) -> None:
        super().__init__(str(document.get("detail") or f"the service answered {status}"))
        self.status, self.document = status, document


@dataclass(frozen=True)
class Shown:
    """A ranking as the service answers it.

    ranking_id : what feedback names
    ids, scores : from the top
    model, version, policy : who ranked, and how
    position : of the ranking in the journal
    answer : all that was answered
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
        """Read an answer."""
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
    """What both clients send."""

    def __init__(
        self,
        url: str,
        loop: str,
        token: str | None = None,
        retries: int = 5,
        timeout: float = 30.0,
    ) -> None:
        self.url, self.loop, self.retries = url, loop, retries
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._options: dict[str, object] = {"base_url": url, "headers": headers, "timeout": timeout}

    def _rank(
        self, items: Mapping[str, Features], more: Mapping[str, object]
    ) -> dict[str, object] | bytes:
        given = {name: value for name, value in more.items() if value is not None}
        request: dict[str, object] = {"id": new_id(), **given}
        rows = [
            dict(row) if isinstance(row, Mapping) else [float(x) for x in row]
            for row in items.values()
        ]
        if any(isinstance(row, dict) or len(row) != len(rows[0]) for row in rows):
            candidates = zip(items, rows, strict=True)
            request["items"] = [{"id": name, "features": row} for name, row in candidates]
            return request
        with np.errstate(over="ignore"):  # the service says which value it cannot take
            block = np.array(rows, "<f4").tobytes()
        request |= {"items": list(items), "features": block}
        packed: bytes = _need("msgspec").msgpack.encode(request)
        return packed

    def _feedback(self, events: Iterable[Feedback]) -> dict[str, object]:
        return {"events": [_renamed(event) for event in events]}

    def _path(self, what: str) -> str:
        return f"/v1/{self.loop}/{what}" if what else f"/v1/{self.loop}"

    def _pause(self, attempt: int, answer: httpx.Response | None) -> float:
        """Return the seconds to wait before the next attempt, as the service asks for."""
        asked = "" if answer is None else answer.headers.get("retry-after", "")
        wished = float(asked) if asked.isdigit() else 0.0
        return max(float(min(0.1 * 2**attempt, 5.0)), min(wished, 30.0))


class Client(_Requests):
    """A client that waits for each answer.

    Parameters
    ----------
    url, loop : where the service is, and which of its loops this is about
    token : where the service asks for one
    retries : how often to send again what found the service busy or gone
    timeout : seconds for one answer

    Examples
    --------
    ::

        with Client("http://127.0.0.1:8080", "products") as client:
            shown = client.rank({"a": [0.3, 1.0], "b": [0.9, 0.2]}, query="shoes")
            client.feedback([Feedback(shown.ranking_id, shown.ids[0])])
    """

    def __init__(self, url: str, loop: str, **options: Any) -> None:
        super().__init__(url, loop, **options)
        self._http = _need("httpx").Client(**self._options)

    def rank(self, items: Mapping[str, Features], **more: object) -> Shown:
        """Rank items, given as features by id; `more` are further fields of the request."""
        return Shown.read(self.send("POST", "rank", self._rank(items, more)))

    def feedback(self, events: Iterable[Feedback]) -> list[str]:
        """Tell what people did, and return what became of each event."""
        answer = self.send("POST", "feedback", self._feedback(events))
        return [event["status"] for event in answer["events"]]

    def judge(self, judgement: Judgement) -> str:
        """Tell what somebody judged, and return what became of it."""
        return str(self.send("POST", "judgements", _renamed(judgement))["status"])

    def forget(self, **whom: str) -> int:
        """Forget a `user`, a `session` or whoever saw a `ranking_id`; return how many keys go.

        It needs a token of scope admin. What was said of them is unreadable from then on.
        """
        return int(self.send("POST", "forget", {"id": new_id(), **whom})["keys"])

    def state(self) -> dict[str, Any]:
        """Return how the loop does."""
        found: dict[str, object] = self.send("GET", "")
        return found

    def send(
        self, method: str, what: str, body: object = None, content: bytes | None = None
    ) -> Any:
        """Send any request about the loop, again where the service was busy; return the answer.

        `body` is sent as JSON, or is MessagePack already where it is bytes; `content` is sent raw.
        """
        path, sent = self._path(what), _sent(body, content)
        for attempt in range(self.retries + 1):
            last, answer = attempt == self.retries, None
            try:
                answer = self._http.request(method, path, **sent)
            except _need("httpx").TransportError as error:
                if last:
                    raise _gone(self.url, error) from error
            else:
                if last or answer.status_code not in _AGAIN:
                    return _checked(answer)
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
    """The same for programs with an event loop; parameters as those of :class:`Client`."""

    def __init__(self, url: str, loop: str, **options: Any) -> None:
        super().__init__(url, loop, **options)
        self._http = _need("httpx").AsyncClient(**self._options)

    async def rank(self, items: Mapping[str, Features], **more: object) -> Shown:
        """Rank items, given as features by id; `more` are further fields of the request."""
        return Shown.read(await self.send("POST", "rank", self._rank(items, more)))

    async def feedback(self, events: Iterable[Feedback]) -> list[str]:
        """Tell what people did, and return what became of each event."""
        answer = await self.send("POST", "feedback", self._feedback(events))
        return [event["status"] for event in answer["events"]]

    async def judge(self, judgement: Judgement) -> str:
        """Tell what somebody judged, and return what became of it."""
        return str((await self.send("POST", "judgements", _renamed(judgement)))["status"])

    async def forget(self, **whom: str) -> int:
        """Forget a `user`, a `session` or whoever saw a `ranking_id`; return how many keys go."""
        return int((await self.send("POST", "forget", {"id": new_id(), **whom}))["keys"])

    async def state(self) -> dict[str, Any]:
        """Return how the loop does."""
        found: dict[str, object] = await self.send("GET", "")
        return found

    async def send(
        self, method: str, what: str, body: object = None, content: bytes | None = None
    ) -> Any:
        """Send any request about the loop, as :meth:`Client.send` does."""
        path, sent = self._path(what), _sent(body, content)
        for attempt in range(self.retries + 1):
            last, answer = attempt == self.retries, None
            try:
                answer = await self._http.request(method, path, **sent)
            except _need("httpx").TransportError as error:
                if last:
                    raise _gone(self.url, error) from error
            else:
                if last or answer.status_code not in _AGAIN:
                    return _checked(answer)
            await asyncio.sleep(self._pause(attempt, answer))
        raise AssertionError  # the last attempt returns or raises

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _renamed(event: Feedback | Judgement) -> dict[str, object]:
    plain = event.to_dict()
    plain["event_id"] = plain.pop("id")
    return plain


def _checked(answer: httpx.Response) -> Any:
    try:
        content = answer.json()
    except ValueError:
        content = {"detail": answer.text[:500]}
    if answer.status_code >= 400:
        raise ServiceError(answer.status_code, content if isinstance(content, dict) else {})
    return content


def _gone(url: str, error: Exception) -> ServiceError:
    return ServiceError(0, {"detail": f"the service at {url} cannot be reached: {error}"})


def _sent(body: object, content: bytes | None) -> dict[str, object]:
    if isinstance(body, bytes):
        return {"content": body, "headers": {"content-type": "application/msgpack"}}
    return {"json": body, "content": content}


def _need(package: str) -> ModuleType:
    """Import a package late, as only who speaks to a service needs it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingExtraError(package, "serve", "the client of the live loop") from None
