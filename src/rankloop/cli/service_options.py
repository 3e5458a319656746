"""The running service that a command talks to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer


@dataclass(frozen=True)
class ServiceOptions:
    """Where a loop runs; each field is an option of the command line."""

    url: Annotated[
        str, typer.Option("--url", help="Address of the service.", envvar="RANKLOOP_URL")
    ] = "http://127.0.0.1:8080"
    loop: Annotated[
        str | None,
        typer.Option("--loop", help="Name of the loop.", show_default="the only one"),
    ] = None
    token: Annotated[
        str | None,
        typer.Option("--token", help="Token with the scope admin.", envvar="RANKLOOP_TOKEN"),
    ] = None

    def send(self, *request: Any, **more: Any) -> Any:
        """Send a request about the loop, and return the answer."""
        from rankloop.client import Client, ServiceError
        from rankloop.exceptions import RankloopError

        try:
            with Client(self.url, self.loop, token=self.token) as client:
                return client.send(*request, **more)
        except ServiceError as error:
            if error.status:
                raise
            raise RankloopError(
                f"{error}; start it with `rankloop serve`, or give its address with --url or "
                "RANKLOOP_URL"
            ) from None

    def act(self, what: str, *request: Any, **more: Any) -> None:
        """Send an action, and say what became of it."""
        action = self.send(*request, **more)
        typer.echo(f"{what}: {action['status']}, entry {action['position']}")


def show_waiting(state: dict[str, Any]) -> None:
    """Say how many rankings of a loop still wait for feedback, if any do."""
    n = state["open_rankings"]
    if n:
        typer.echo(
            f"not counted yet, because the window for their feedback is not over: {n:,} "
            f"ranking{'s' * (n != 1)}"
        )


Reason = Annotated[str, typer.Option("--reason", help="Reason, which the journal keeps.")]
