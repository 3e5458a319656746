"""`rankloop models`: the models of a running loop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rankloop.cli import catch_errors
from rankloop.cli import options as o
from rankloop.cli.tables import print_json, print_table, quality_cells
from rankloop.exceptions import RankloopError

models = typer.Typer(add_completion=False, help="See and change the models of a running loop.")

Url = Annotated[str, typer.Option("--url", help="Address of the service.", envvar="RANKLOOP_URL")]
Loop = Annotated[str, typer.Option("--loop", help="Name of the loop.")]
Token = Annotated[
    str | None, typer.Option("--token", help="Token with the scope admin.", envvar="RANKLOOP_TOKEN")
]
Reason = Annotated[str, typer.Option("--reason", help="Reason, which the journal keeps.")]
_HERE = "http://127.0.0.1:8080"


def _send(url: str, loop: str, token: str | None, *request: Any, **more: Any) -> Any:
    from rankloop.client import Client, ServiceError

    try:
        with Client(url, loop, token=token) as client:
            return client.send(*request, **more)
    except ServiceError as error:
        if error.status:
            raise
        raise RankloopError(
            f"{error}; start it with `rankloop serve`, or give its address with --url or "
            "RANKLOOP_URL"
        ) from None


@models.command("list")
@catch_errors
def list_(url: Url = _HERE, loop: Loop = "loop", token: Token = None, json: o.Json = False) -> None:
    """List the models, and how well each does."""
    state = _send(url, loop, token, "GET", "")
    if json:
        print_json(state["models"])
        return
    rows = [
        [
            model["name"],
            "*" if model["champion"] else "",
            model["version"],
            *quality_cells(**model["quality"]),
        ]
        for model in state["models"]
    ]
    print_table(["model", "champion", "version", "rankings", "nDCG@10", "recent"], rows)


@models.command("add")
@catch_errors
def add(
    name: Annotated[str, typer.Argument(help="Name for the model.")],
    file: Annotated[Path, typer.Argument(help="Model file from `rankloop train`.")],
    url: Url = _HERE,
    loop: Loop = "loop",
    token: Token = None,
) -> None:
    """Add a model file as a challenger."""
    act = _send(url, loop, token, "POST", f"models/{name}", content=file.read_bytes())
    typer.echo(f"{name}: {act['status']}, entry {act['position']}")


@models.command("remove")
@catch_errors
def remove(
    name: Annotated[str, typer.Argument(help="Name of the model.")],
    url: Url = _HERE,
    loop: Loop = "loop",
    token: Token = None,
) -> None:
    """Remove a model that is neither the champion nor in an experiment."""
    act = _send(url, loop, token, "DELETE", f"models/{name}")
    typer.echo(f"{name}: {act['status']}, entry {act['position']}")


@models.command("promote")
@catch_errors
def promote(
    name: Annotated[str, typer.Argument(help="Name of the model.")],
    url: Url = _HERE,
    loop: Loop = "loop",
    token: Token = None,
    reason: Reason = "",
) -> None:
    """Make a model the champion."""
    act = _send(url, loop, token, "POST", "promote", {"model": name, "reason": reason})
    typer.echo(f"{name}: {act['status']}, entry {act['position']}")


@models.command("rollback")
@catch_errors
def rollback(
    position: Annotated[
        int | None, typer.Option("--position", help="Return to the state after this entry.", min=1)
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without", help="Leave out events with this id; * stands for any characters."
        ),
    ] = None,
    url: Url = _HERE,
    loop: Loop = "loop",
    token: Token = None,
    reason: Reason = "",
) -> None:
    """Bring all models back to an earlier state, or to the state without some events."""
    body = {"position": position, "without_events": without, "reason": reason}
    act = _send(url, loop, token, "POST", "rollback", body)
    typer.echo(f"rolled back: {act['status']}, entry {act['position']}")
