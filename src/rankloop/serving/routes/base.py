"""Routes are declarations, from which checks, metrics and the OpenAPI document follow."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.responses import Response

from rankloop.exceptions import RankloopError
from rankloop.serving.problems import HTTPProblem, as_problem
from rankloop.serving.security.guard import client_name
from rankloop.serving.security.limits import read_body

if TYPE_CHECKING:
    from prometheus_client import Histogram
    from starlette.types import Receive, Send
    from starlette.types import Scope as AsgiScope

    from rankloop.serving.loop import Loop
    from rankloop.serving.service import Service
    from rankloop.serving.settings.sections import Scope

JSON = "application/json"
MSGPACK = "application/msgpack"


class Call(NamedTuple):
    """One request, checked and decoded.

    service : all loops, and what routes need
    path : the variables of the path
    body : as the route declares it; None if it has no body
    who : the name of the token
    scope : as ASGI gives it
    """

    service: Service
    path: dict[str, str]
    body: Any
    who: str
    scope: AsgiScope

    @property
    def client(self) -> str:
        """The client for which limits are counted."""
        return client_name(self.who, address_of(self.scope))

    @property
    def loop(self) -> Loop:
        """The loop that the path names."""
        name = self.path["loop"]
        loop = self.service.loops.get(name)
        if loop is None:
            known = ", ".join(self.service.loops)
            raise HTTPProblem(404, f"there is no loop {name!r}; there are: {known}")
        return loop


class Endpoint(NamedTuple):
    """A route.

    method, path : the HTTP method, and the path with {variables}
    handle : what it does
    summary : one line for people
    scope : the scope that a token must have; None: no token is needed
    body : the struct of its body, or None
    packed : the struct of a MessagePack body, if it accepts one
    answer : the struct of its answer, or None
    raw : whether it gets the bytes of its body as they are
    browsers : whether pages of other sites may call it; the route checks their origin
    """

    method: str
    path: str
    handle: Callable[[Call], Awaitable[Response]]
    summary: str
    scope: Scope | None
    body: Any = None
    packed: Any = None
    answer: object = None
    raw: bool = False
    browsers: bool = False

    @property
    def sheds(self) -> bool:
        """Whether it refuses requests under too much load; people and monitoring always get in."""
        return self.browsers or self.scope in ("rank", "feedback")


class Handler:
    """An endpoint as an ASGI application."""

    def __init__(self, endpoint: Endpoint, service: Service) -> None:
        self._endpoint, self._service = endpoint, service
        self._json = None if endpoint.body is None else msgspec.json.Decoder(endpoint.body)
        self._msgpack = (
            None if endpoint.packed is None else msgspec.msgpack.Decoder(endpoint.packed)
        )
        self._sheds = endpoint.sheds
        self._name = f"{endpoint.method} {endpoint.path}"
        self._by_status: dict[int, Histogram] = {}

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        start = time.perf_counter()
        try:
            response = await self._answer(scope, receive)
        except RankloopError as error:
            response = as_problem(error).response()
        timer = self._by_status.get(response.status_code)
        if timer is None:
            seconds = self._service.metrics.seconds
            timer = seconds.labels(self._name, str(response.status_code))
            self._by_status[response.status_code] = timer
        timer.observe(time.perf_counter() - start)
        await response(scope, receive, send)

    async def _answer(self, scope: AsgiScope, receive: Receive) -> Response:
        headers = dict(scope["headers"])
        service, endpoint = self._service, self._endpoint
        shedder = service.shedder
        if self._sheds:
            shedder.admit()
        who = service.guard.admit(headers, address_of(scope), endpoint.scope, endpoint.browsers)
        if endpoint.body is None and not endpoint.raw:
            return await endpoint.handle(Call(service, scope["path_params"], None, who, scope))
        content = await read_body(scope, receive, service.settings.server.max_bytes, shedder)
        try:
            body = content if endpoint.raw else self._decode(content, headers)
            return await endpoint.handle(Call(service, scope["path_params"], body, who, scope))
        finally:
            shedder.release(len(content))

    def _decode(self, content: bytes, headers: dict[bytes, bytes]) -> Any:
        kind = headers.get(b"content-type", b"application/json").split(b";")[0].strip().lower()
        packed = kind in (b"application/msgpack", b"application/x-msgpack")
        decoder = self._msgpack if packed else self._json
        if decoder is None or not (packed or kind == b"application/json"):
            kinds = JSON if self._msgpack is None else f"{JSON} or {MSGPACK}"
            raise HTTPProblem(415, f"the content is {kind.decode('latin-1')!r}; send {kinds}")
        try:
            return decoder.decode(content)
        except msgspec.ValidationError as error:
            raise HTTPProblem(422, _explain(str(error), decoder.type)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise HTTPProblem(400, f"the body does not match its content type: {error}") from None


def address_of(scope: AsgiScope) -> str:
    """Return where a request comes from."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _explain(message: str, expected: Any) -> str:
    """Put the place first, `items[0].id: expected ...`; name the known fields of a whole body."""
    reason, _, place = message.partition(" - at `$")
    known = getattr(expected, "__struct_encode_fields__", ()) if not place else ()
    more = f"; it may have {', '.join(known)}" if known and "unknown field" in reason else ""
    return f"{place.strip('`.') or 'the body'}: {reason[:1].lower()}{reason[1:]}{more}"


def count_events(service: Service, loop: str, status: str, n: int = 1) -> None:
    """Count events by the status that they were answered with, for metrics and the loop's state."""
    service.metrics.events.labels(loop, status).inc(n)
    if status == "rejected":
        service.loops[loop].rejected += n


def answer(value: object, status: int = 200) -> Response:
    """Return a value as JSON."""
    return Response(msgspec.json.encode(value), status, media_type=JSON)
