"""`rankloop models`: the models of a running loop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import catch_errors
from rankloop.cli import options as o
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.service_options import Reason, ServiceOptions, show_waiting
from rankloop.cli.tables import print_json, print_table, quality_cells

models = typer.Typer(add_completion=False, help="See and change the models of a running loop.")

Name = Annotated[str, typer.Argument(help="Name of the model.")]


@models.command("list")
@catch_errors
@takes_groups
def list_(service: ServiceOptions, json: o.Json = False) -> None:
    """List the models, and how well each does."""
    state = service.send("GET", "")
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
    for model in state["models"]:
        if model.get("refused"):
            typer.echo(f"{model['name']} could not learn from {model['refused']:,} examples")
    show_waiting(state)


@models.command("add")
@catch_errors
@takes_groups
def add(
    name: Name,
    file: Annotated[Path, typer.Argument(help="Model file from `rankloop train`.")],
    service: ServiceOptions,
) -> None:
    """Add a model file as a challenger."""
    service.act(name, "POST", f"models/{name}", content=file.read_bytes())


@models.command("remove")
@catch_errors
@takes_groups
def remove(name: Name, service: ServiceOptions) -> None:
    """Remove a model that is neither the champion nor in an experiment."""
    service.act(name, "DELETE", f"models/{name}")


@models.command("promote")
@catch_errors
@takes_groups
def promote(name: Name, service: ServiceOptions, reason: Reason = "") -> None:
    """Make a model the champion."""
    service.act(name, "POST", "promote", {"model": name, "reason": reason})


@models.command("rollback")
@catch_errors
@takes_groups
def rollback(
    service: ServiceOptions,
    position: Annotated[
        int | None, typer.Option("--position", help="Return to the state after this entry.", min=1)
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without", help="Leave out events with this id; * stands for any characters."
        ),
    ] = None,
    reason: Reason = "",
) -> None:
    """Bring all models back to an earlier state, or to the state without some events."""
    body = {"position": position, "without_events": without, "reason": reason}
    service.act("rolled back", "POST", "rollback", body)
