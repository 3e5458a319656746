"""The application and its commands, in the order in which users need them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from rankloop.cli import (
    clicks,
    compare,
    compare_runs,
    convert,
    evaluate,
    explain,
    export,
    guarded,
    import_model,
    init,
    inspect,
    journal,
    models,
    rankers,
    reproduce,
    score,
    serve,
    simulate,
    split,
    stream,
    train,
    tune,
)

app = typer.Typer(
    no_args_is_help=True,
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


COMMANDS: dict[str, Callable[..., object]] = {
    "init": init.init,
    "inspect": inspect.inspect,
    "train": train.train,
    "score": score.score,
    "compare": compare.compare,
    "tune": tune.tune,
    "stream": stream.stream,
    "explain": explain.explain,
    "rankers": rankers.rankers,
    "evaluate": evaluate.evaluate,
    "compare-runs": compare_runs.compare_runs,
    "convert": convert.convert,
    "split": split.split,
    "export": export.export,
    "import": import_model.import_model,
    "simulate": simulate.simulate,
    "reproduce": reproduce.reproduce,
    "serve": serve.serve,
}
for _name, _command in COMMANDS.items():
    app.command(_name)(guarded(_command))
app.add_typer(clicks.app, name="clicks")
app.add_typer(journal.journal, name="journal")
app.add_typer(models.models, name="models")
