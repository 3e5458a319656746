"""What operators do becomes an entry, and is answered once it has taken effect."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import answer

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankloop.serving.engine.state import Published
    from rankloop.serving.journal.entries import Entry
    from rankloop.serving.routes.base import Call


_PATIENCE = 10.0  # seconds to wait until an action takes effect; it may take longer

Share = Annotated[float, Meta(ge=0, le=1)]


class ActionAnswer(msgspec.Struct, omit_defaults=True):
    """An action: its id, and its position in the journal."""

    id: str
    status: str
    position: int | None = None


async def act(call: Call, action_id: str, entry: Entry) -> Response:
    """Append an entry, and answer once it has taken effect, so that the next request sees it."""
    return answer(await take_action(call, action_id, entry))


async def take_action(call: Call, action_id: str, entry: Entry) -> ActionAnswer:
    """Append an entry, and return the answer once it has taken effect."""
    (outcome,) = await call.loop.submit_from(asyncio.get_running_loop(), [entry])
    if outcome.status == "conflict":
        raise HTTPProblem(
            409, f"{action_id!r} already exists with other contents; use another id or name"
        )
    if outcome.position is not None:
        await asyncio.to_thread(call.loop.wait_for_entry, outcome.position, _PATIENCE)
    return ActionAnswer(action_id, outcome.status, outcome.position)


def require_model(now: Published, model: str) -> None:
    """Raise if a loop has no model of this name."""
    if model not in now.models:
        raise HTTPProblem(404, f"there is no model {model!r}; there are: {', '.join(now.models)}")
