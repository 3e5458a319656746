"""What is answered while a service starts: a long journal takes minutes to replay."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from rankloop.serving.service import Service


class Startup:
    """An application that starts a service in a thread, and then hands all requests to it.

    Until then, `/livez` answers that the process is alive, and everything else is asked to come
    again. So whoever watches the process does not take a long replay for a failure.

    Parameters
    ----------
    start : starts the service
    on_ready : called when it is ready
    on_fault : called when it cannot start

    Attributes
    ----------
    service : the service, once it is ready
    fault : why it could not start
    """

    def __init__(
        self,
        start: Callable[[], Service],
        on_ready: Callable[[], None],
        on_fault: Callable[[], None],
    ) -> None:
        self._start, self._on_ready, self._on_fault = start, on_ready, on_fault
        self._app: ASGIApp | None = None
        self.service: Service | None = None
        self.fault: BaseException | None = None

    def run(self) -> None:
        """Start the service, in this thread."""
        try:
            service = self._start()
            self._app, self.service = service.app(), service
            self._on_ready()
        except BaseException as error:
            self.fault = error
            self._on_fault()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or begin and end."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif scope["path"] == "/livez":
            await answer({"status": "starting"})(scope, receive, send)
        else:
            problem = HTTPProblem(503, "the service is starting: it replays its journals", 5)
            await problem.response()(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        if self.service is None and self.fault is None:
            # If the process is told to end meanwhile, the thread ends with it: a replay has
            # nothing to save.
            threading.Thread(target=self.run, name="startup", daemon=True).start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if self.service is not None:
            self.service.stop()
        await send({"type": "lifespan.shutdown.complete"})
