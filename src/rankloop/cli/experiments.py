"""`rankloop experiments`: compare the models of a running loop on live traffic."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankloop.cli import catch_errors
from rankloop.cli import options as o
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.service_options import Reason, ServiceOptions, show_waiting
from rankloop.cli.tables import print_json, print_table
from rankloop.exceptions import RankloopError

experiments = typer.Typer(
    add_completion=False, help="Compare the models of a running loop on live traffic."
)


@experiments.command("start")
@catch_errors
@takes_groups
def start(
    challengers: Annotated[
        list[str], typer.Argument(help="Models that are compared with the champion.")
    ],
    service: ServiceOptions,
    promote: Annotated[
        str,
        typer.Option(
            "--promote",
            help="What becomes the champion: auto (the winner, with what it has learnt "
            "meanwhile), snapshot (the winner as it is now) or no.",
        ),
    ] = "no",
    share: Annotated[
        float, typer.Option("--share", help="Share of rankings that are interleaved.")
    ] = 1.0,
    holdback: Annotated[
        float,
        typer.Option(
            "--holdback",
            help="Share of rankings on which a promoted winner is compared with the previous "
            "champion.",
        ),
    ] = 0.1,
) -> None:
    """Show lists to which the champion and its challengers contribute in turn."""
    body = {
        "challengers": challengers,
        "promote": promote,
        "share": share,
        "holdback": holdback,
    }
    started = service.send("POST", "experiments", body)
    typer.echo(f"started: {started['status']}, entry {started['position']}")
    _show_forecast(started["forecast"])


@experiments.command("show")
@catch_errors
@takes_groups
def show(service: ServiceOptions, json: o.Json = False) -> None:
    """Show the running experiment, how the last one ended, and the error budget that is left."""
    found = service.send("GET", "experiments")
    if json:
        print_json(found)
        return
    experiment, budget = found.get("experiment"), found["budget"]
    if experiment is None:
        typer.echo("no experiment is running")
        if "next" in found:
            _show_forecast(found["next"])
    else:
        typer.echo(
            f"{'holdback' if experiment['holdback'] else 'experiment'} {experiment['id']}, on "
            f"{experiment['share']:.0%} of rankings, against {experiment['champion']}:"
        )
        names = ["challenger", "outcomes", "wins", "losses", "wins minus losses"]
        print_table(names, [_cells(challenger) for challenger in experiment["challengers"]])
        typer.echo("outcomes: rankings with a click; of a session, or of a user, only the first")
        show_waiting(service.send("GET", ""))
    last = found.get("last")
    if last is not None:
        winner = f"{last['winner']} won" if last["winner"] else "no winner"
        typer.echo(
            f"experiment {last['id']} ended at entry {last['position']}: {winner}; reason: "
            f"{last['reason'] or 'none'}; by {last['by']}, {last['at']}"
        )
    left = 1 - budget["spent"] / budget["alpha"]
    typer.echo(
        f"experiments {budget['experiments']}, promotions {budget['promotions']}, rollbacks "
        f"{budget['rollbacks']}; {left:.0%} of the error budget is left"
    )


def _show_forecast(forecast: dict[str, Any]) -> None:
    """Print how long an experiment takes, and what that assumes."""
    names = ["difference", "outcomes", "half end by", "rankings", "days"]
    keys = ("outcomes", "half", "rankings", "days")
    rows = [[f"{d['preference']:.0%}", *map(d.get, keys)] for d in forecast["durations"]]
    print_table(names, rows)
    rate, clicked, days = (
        forecast[key] for key in ("rankings_per_day", "clicked_per_day", "counted_days")
    )
    counted = (
        "too few rankings to say how long that takes"
        if rate is None
        else f"{rate:,.0f} rankings a day, {clicked:,.0f} of them clicked, as in the last "
        f"{days:.2g} days"
    )
    typer.echo("outcomes: rankings or sessions with a click; four of five experiments end by then")
    typer.echo(
        f"assumed: {forecast['decided']:.0%} of outcomes prefer one of two models, the better one "
        "by this difference"
    )
    typer.echo(f"traffic: {counted}")


def _cells(challenger: dict[str, Any]) -> list[object]:
    interval = f"{challenger['low']:+.3f} to {challenger['high']:+.3f}"
    return [*(challenger[key] for key in ("name", "outcomes", "wins", "losses")), interval]


@experiments.command("end")
@catch_errors
@takes_groups
def end(service: ServiceOptions, reason: Reason = "ended by hand") -> None:
    """End the running experiment without a winner."""
    experiment = service.send("GET", "experiments").get("experiment")
    if experiment is None:
        raise RankloopError(
            "no experiment is running; `rankloop experiments show` says how the last one ended"
        )
    service.act("ended", "POST", f"experiments/{experiment['id']}/end", {"reason": reason})
