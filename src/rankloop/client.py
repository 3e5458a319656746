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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from rankloop._utils.arguments import as_list, check_type, wrong_type
from rankloop._utils.json_values import json_value
from rankloop.exceptions import DataError, MissingExtraError, RankloopError
from rankloop.feedback.events import Feedback, Judgement
from rankloop.feedback.ids import new_id

if TYPE_CHECKING:
    from types import ModuleType

    import httpx

    class Frame(Protocol):
        """A frame of pandas."""

        index: Any

        def to_dict(self, orient: str, /) -> Any:
            """Return the rows."""
            ...

    Features = Iterable[float] | Mapping[str, object]
    Changes = Mapping[str, Mapping[str, object]] | Iterable[str] | Frame

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


class EventStatus(str):
    """What the service did with an event: a text such as `applied` or `rejected`.

    detail : why it was rejected; empty otherwise

    >>> EventStatus("rejected", "item: 'c' was not shown")
    'rejected' (item: 'c' was not shown)
    """

    detail: str

    def __new__(cls, status: str, detail: str = "") -> Self:
        """Make a status with its reason."""
        made = super().__new__(cls, status)
        made.detail = detail
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.detail)

    def __repr__(self) -> str:
        return f"{str(self)!r} ({self.detail})" if self.detail else super().__repr__()


@dataclass(frozen=True)
class RankingAnswer:
    """A ranking as the service answers it.

    ranking_id : the id that feedback refers to
    ids, scores : the items and their scores, best first
    model, version, policy : the model that ranked, its version, and the policy
    position : the position of the ranking in the journal
    answer : the whole answer
    unknown : the items that have no fields, if the loop computes features: their features are
        missing values
    """

    ranking_id: str
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    model: str
    version: int
    policy: str
    position: int
    answer: Mapping[str, object]
    unknown: tuple[str, ...] = ()

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
            tuple(answer.get("unknown", ())),
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
        if not url.startswith(("http://", "https://")):
            host = url.partition("://")[2] or url
            raise DataError(f"url: found {url!r}, expected an address such as http://{host}")
        self.url, self.loop, self.retries = url, loop, retries
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._options: dict[str, object] = {"base_url": url, "headers": headers, "timeout": timeout}

    def _rank(
        self, items: Mapping[str, Features] | Iterable[str], more: Mapping[str, object]
    ) -> dict[str, object] | bytes:
        given = {k: json_value(v, k) for k, v in more.items() if v is not None}
        request: dict[str, object] = {"id": new_id(), **given}
        if not isinstance(items, Mapping):
            return {**request, "items": _read_ids("items", items)}
        rows = [_read_row(name, row) for name, row in items.items()]
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
        given = as_list("events", events, "a list of Feedback")
        for event in given:
            if not isinstance(event, Feedback):
                raise wrong_type("each of events", event, "Feedback")
        return {"events": [_event_fields(event) for event in given]}

    def _judgement(self, judgement: Judgement) -> dict[str, object]:
        check_type("judgement", judgement, Judgement, "a Judgement")
        return _event_fields(judgement)

    def _changes(self, kind: str, changes: Changes, method: str) -> Iterator[bytes]:
        """Return changes as lines of JSON, one text for each request."""
        if method == "DELETE":
            lines = [json.dumps(name) for name in _read_ids(kind, changes)]
        else:
            lines = [
                json.dumps({"id": name, "fields": fields})
                for name, fields in _read_fields(kind, changes)
            ]
        for first in range(0, len(lines), _CHANGES):
            yield "\n".join(lines[first : first + _CHANGES]).encode()

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

        Items are a mapping from ids to features, or only ids if the loop computes features. By
        name, features may be texts and dates, if the loop defines them so; None is a missing value.
        """
        return RankingAnswer.read(self.send("POST", "rank", self._rank(items, more)))

    def feedback(self, events: Iterable[Feedback]) -> list[EventStatus]:
        """Send events, and return the status of each: what the service did with it, and why."""
        answer = self.send("POST", "feedback", self._feedback(events))
        return [EventStatus(e["status"], e.get("detail", "")) for e in answer["events"]]

    def change(self, kind: str, changes: Changes, method: str = "PUT") -> int:
        """Change the fields of `items` or `users`, and return how many were changed.

        Fields may be dates, and numbers of NumPy; None, NaN, NaT and pandas.NA are missing values.
        All are checked before the first is sent.

        Parameters
        ----------
        changes : fields by id, or a frame of pandas with ids as its index; only ids with `DELETE`
        method : `PUT` replaces all fields, `PATCH` only those that are given, `DELETE` removes them
        """
        changed = 0
        for lines in self._changes(kind, changes, method):
            answer = self.send(method, kind, content=lines)
            changed += answer["changed"]
        return changed

    def judge(self, judgement: Judgement) -> str:
        """Send a judgement, and return its status: what the service did with it."""
        return str(self.send("POST", "judgements", self._judgement(judgement))["status"])

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

        Items are a mapping from ids to features, or only ids if the loop computes features. By
        name, features may be texts and dates, if the loop defines them so; None is a missing value.
        """
        return RankingAnswer.read(await self.send("POST", "rank", self._rank(items, more)))

    async def feedback(self, events: Iterable[Feedback]) -> list[EventStatus]:
        """Send events, and return the status of each: what the service did with it, and why."""
        answer = await self.send("POST", "feedback", self._feedback(events))
        return [EventStatus(e["status"], e.get("detail", "")) for e in answer["events"]]

    async def change(self, kind: str, changes: Changes, method: str = "PUT") -> int:
        """Change the fields of items or users, as :meth:`Client.change` does."""
        changed = 0
        for lines in self._changes(kind, changes, method):
            answer = await self.send(method, kind, content=lines)
            changed += answer["changed"]
        return changed

    async def judge(self, judgement: Judgement) -> str:
        """Send a judgement, and return its status: what the service did with it."""
        return str((await self.send("POST", "judgements", self._judgement(judgement)))["status"])

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


def _read_ids(name: str, ids: object) -> list[object]:
    """Return ids, as they are sent."""
    given = as_list(name, ids, "ids, as in frame.index")
    return [_read_id(name, one) for one in given]


def _read_id(name: str, given: object) -> object:
    """Return one id; an item may be an object that also has features."""
    if not isinstance(given, str | Mapping):
        raise wrong_type(
            f"each id in {name}", given, "text, such as frame.index.astype(str) has it"
        )
    return given if isinstance(given, str) else json_value(given, name)


def _read_row(name: str, row: object) -> dict[str, object] | list[float]:
    """Return the features of one item, by name or in order."""
    if isinstance(row, Mapping):
        return {k: json_value(v, f"item {name!r}: feature {k!r}") for k, v in row.items()}
    try:
        return [float(x) for x in row]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise wrong_type(
            f"the features of item {name!r}", row, "numbers, or numbers by name"
        ) from None


def _read_fields(kind: str, changes: Any) -> Iterator[tuple[str, dict[str, object]]]:
    """Return each id with its fields, as JSON can hold them."""
    if hasattr(changes, "columns") and hasattr(changes, "index"):
        if not changes.index.is_unique:
            twice = changes.index[changes.index.duplicated()][0]
            raise DataError(f"the index of the frame has {twice!r} twice; give each id once")
        changes = changes.to_dict("index")
    if not isinstance(changes, Mapping):
        raise wrong_type(
            kind, changes, "fields by id, as in {'a': {'price': 9.5}}, or a frame with ids as index"
        )
    for name, fields in changes.items():
        if not isinstance(name, str):
            raise wrong_type(
                f"each id in {kind}", name, "text; if a column has the ids, use frame.set_index"
            )
        if not isinstance(fields, Mapping):
            raise wrong_type(f"the fields of {name!r}", fields, "values by field")
        owner = f"{kind[:-1]} {name!r}: field"
        yield name, {k: json_value(v, f"{owner} {k!r}") for k, v in fields.items()}


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
