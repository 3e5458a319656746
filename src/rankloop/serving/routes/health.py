"""`/livez`, `/readyz` and `/metrics`: for monitoring."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import Response

from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer

if TYPE_CHECKING:
    from rankloop.serving.routes.base import Call


async def livez(_: Call) -> Response:
    """Say that the process answers."""
    return answer({"status": "alive"})


async def readyz(call: Call) -> Response:
    """Say whether every loop has been replayed and answers, and how much was left out."""
    faults = {name: str(loop.fault) for name, loop in call.service.loops.items() if not loop.ready}
    faults |= {name: loop.unwritten for name, loop in call.service.loops.items() if loop.unwritten}
    if faults:
        raise HTTPProblem(503, f"not ready: {', '.join(faults)}", loops=faults)
    failed = {
        name: loop.published.totals.failed
        for name, loop in call.service.loops.items()
        if loop.published.totals.failed
    }
    return answer({"status": "ready", "failed": failed} if failed else {"status": "ready"})


async def metrics(call: Call) -> Response:
    """Return counters in the format of Prometheus."""
    return Response(
        await asyncio.to_thread(call.service.metrics.text), media_type="text/plain; version=0.0.4"
    )


ENDPOINTS = (
    Endpoint("GET", "/livez", livez, "Whether the process answers.", None),
    Endpoint("GET", "/readyz", readyz, "Whether every loop answers.", None),
    Endpoint("GET", "/metrics", metrics, "Counters for Prometheus.", "metrics"),
)
