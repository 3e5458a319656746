"""The service: loops behind routes, started and stopped together."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from rankloop.serving.dashboard import routes as dashboard
from rankloop.serving.dashboard.board import Boards
from rankloop.serving.feature_table import FeatureTable
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.learning.model_file import promote_model
from rankloop.serving.loop import Loop
from rankloop.serving.metrics import Metrics
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Handler
from rankloop.serving.routes.endpoints import ENDPOINTS
from rankloop.serving.security.guard import Guard
from rankloop.serving.security.limits import Buckets
from rankloop.serving.security.shedding import LoadShedder
from rankloop.serving.security.tickets import Tickets
from rankloop.serving.security.vault import Vault
from rankloop.serving.shared_metrics import SharedMetrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from rankloop.serving.routes.base import Endpoint
    from rankloop.serving.settings.service import Settings


class Service:
    """All loops of one process, and what their routes need.

    draining : whether it is about to stop, so that endless answers must end
    listening : clients of each loop's events, by its name
    tables : features of items that are sent with ids only, by the name of the loop
    """

    def __init__(
        self,
        settings: Settings,
        loops: Mapping[str, Loop],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings, self.loops = settings, loops
        self.guard = Guard(settings)
        signing = settings.signing_keys()
        self.tickets = Tickets(signing, settings.browsers.signed_for) if signing else None
        events = settings.browsers.events_per_minute
        self.beacons = Buckets(events / 60, events, settings.limits.max_clients)
        server = settings.server
        self.shedder = LoadShedder(server.max_delay, server.max_waiting_bytes)
        self.metrics = Metrics(loops)
        self.boards = Boards(loops, self.metrics, clock)
        self.endpoints = (*ENDPOINTS, *dashboard.ENDPOINTS)
        self.draining = False
        self.tables: Mapping[str, FeatureTable] = {}
        self.listening: Counter[str] = Counter()

    @classmethod
    def start(cls, settings: Settings, **options: Any) -> Service:
        """Open every journal and restore every loop; it is ready when this returns."""
        loops: dict[str, Loop] = {}
        tables = {
            name: FeatureTable.read(loop.table, loop.names)
            for name, loop in settings.loops.items()
            if loop.table
        }
        masters = settings.master_keys()
        try:
            for name, loop in settings.loops.items():
                journal = open_journal(loop.journal or f"{name}.journal", name)
                max_waiting = settings.server.max_waiting
                vault = Vault(masters) if masters else None
                loops[name] = Loop(
                    name, loop, journal, max_waiting=max_waiting, vault=vault, **options
                )
                if loop.model:
                    promote_model(loops[name], loop)
        except BaseException:
            for started in loops.values():
                started.stop(save=False)
            raise
        service = cls(settings, loops, options.get("clock", time.time))
        service.tables = tables
        service.boards.start()
        return service

    def share_metrics(self, folder: str) -> None:
        """Let all processes of this service have the same metrics, by files in a folder."""
        self.metrics.shared = SharedMetrics(folder, self.metrics.registry)
        self.metrics.shared.start()

    def stop(self) -> None:
        """Commit, apply and save what every loop has accepted."""
        if self.metrics.shared is not None:
            self.metrics.shared.stop()
        self.boards.stop()
        for loop in self.loops.values():
            loop.stop()

    def app(self) -> Starlette:
        """Return the routes as an ASGI application; when it ends, it stops the service."""

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            yield
            self.stop()

        routes = [
            Route(_with_slashes(endpoint.path), Handler(endpoint, self), methods=[endpoint.method])
            for endpoint in sorted(self.endpoints, key=_place)
        ]
        app = Starlette(
            routes=routes,
            lifespan=lifespan,
            exception_handlers={HTTPException: _not_answered, Exception: _fault},
        )
        app.router.redirect_slashes = False  # it would send people to whatever host they named
        return app


def _place(endpoint: Endpoint) -> tuple[bool, int]:
    """Return a number by which routes are ordered: traffic comes first, because all are tried.

    Of the others, longer paths come first, so that ids with slashes do not take their ends.
    """
    return not endpoint.sheds or "{id}" in endpoint.path, -endpoint.path.count("/")


def _with_slashes(path: str) -> str:
    """Let ids contain slashes."""
    return path.replace("{id}", "{id:path}")


async def _not_answered(request: Request, error: Exception) -> Response:
    """Answer a path or a method that is not offered; name the methods that are."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = str(error)
    allowed: list[str] = []
    if status == 404:
        words = "there is no such path; see /openapi.json"
    elif status == 405:
        routes = [route for route in request.app.routes if isinstance(route, Route)]
        offered = [r.methods or () for r in routes if r.matches(request.scope)[0] is Match.PARTIAL]
        allowed = sorted({name for names in offered for name in names})
        words = (
            f"found the method {request.method}, expected one of {', '.join(allowed)}; see "
            "/openapi.json"
        )
    response = HTTPProblem(status, words).response()
    if allowed:
        response.headers["allow"] = ", ".join(allowed)
    return response


async def _fault(_: Request, error: Exception) -> Response:
    """Answer an unexpected error; the log has the details."""
    return HTTPProblem(
        500, f"an internal error: {type(error).__name__}; see the log of the service"
    ).response()
