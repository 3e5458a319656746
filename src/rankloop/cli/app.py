"""The application: its commands, in the order in which people meet them."""

from __future__ import annotations

from typing import Annotated

import typer

from rankloop.cli import (
    compare,
    compare_runs,
    convert,
    evaluate,
    explain,
    inspect,
    learners,
    reproduce,
    score,
    simulate,
    stream,
    train,
    tune,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from rankloop import __version__

        typer.echo(f"rankloop {__version__}")
        raise typer.Exit


@app.callback()
def rankloop(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Learning to rank that never stops learning."""


app.command("inspect")(inspect.inspect)
app.command("stream")(stream.stream)
app.command("compare")(compare.compare)
app.command("tune")(tune.tune)
app.command("train")(train.train)
app.command("score")(score.score)
app.command("explain")(explain.explain)
app.command("learners")(learners.learners)
app.command("evaluate")(evaluate.evaluate)
app.command("compare-runs")(compare_runs.compare_runs)
app.command("convert")(convert.convert)
app.command("simulate")(simulate.simulate)
app.command("reproduce")(reproduce.reproduce)
