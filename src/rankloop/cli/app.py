"""The application and its commands, in the order in which users need them."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rankloop.cli import catch_errors

COMMANDS: dict[str, tuple[str, str]] = {
    "init": (
        "init:init",
        "Look at data and write a configuration with comments, for `--config` of other commands.",
    ),
    "inspect": (
        "inspect:inspect",
        "Summarise a data set: sizes, grades, features, and what looks wrong.",
    ),
    "train": ("train:train", "Train a ranker and write it to one file."),
    "score": (
        "score:score",
        "Score data with a model: one score per line, in row order. No grades are needed.",
    ),
    "compare": (
        "compare:compare",
        "Compare rankers: parameters chosen on validation data, quality measured on test data.",
    ),
    "tune": (
        "tune:tune",
        "Search a ranker's parameters; print the best ones, and the command that trains with them.",
    ),
    "stream": (
        "stream:stream",
        "Run rankers over a stream; each query is measured before the rankers learn from it.",
    ),
    "explain": (
        "explain:explain",
        "Show the parts of a model; with DATA, what each feature adds to scores.",
    ),
    "rankers": (
        "rankers:rankers",
        "List the rankers, the usual choices first, or show one with its parameters and reference.",
    ),
    "evaluate": ("evaluate:evaluate", "Measure a ranking against judged data."),
    "compare-runs": (
        "compare_runs:compare_runs",
        "Compare rankings query by query: difference, effect, significance (Holm-corrected).",
    ),
    "convert": (
        "convert:convert",
        "Convert data to another format in bounded memory; the last argument, or -o, is the "
        "output.",
    ),
    "features": (
        "features:features",
        "Compute the features of a log as they were at each moment, and write them as a data set.",
    ),
    "split": (
        "split:split",
        "Split queries at random into training, validation and test data; no query is divided.",
    ),
    "export": (
        "export:export",
        "Write a model for another engine; --verify compares its scores with the original ones.",
    ),
    "import": (
        "export:import_model",
        "Convert a model of LightGBM, XGBoost or CatBoost to a model file, which serves it.",
    ),
    "simulate": (
        "simulate:simulate",
        "Simulate a data set; the same random seed gives the same data.",
    ),
    "reproduce": (
        "reproduce:reproduce",
        "Run experiments of the papers, and compare the results with the published ones.",
    ),
    "serve": (
        "serve:serve",
        "Start the service: rank, record, observe and learn over HTTP, until stopped.",
    ),
    "clicks": ("clicks:app", "Inspect click logs, fit click models to them, and use them."),
    "journal": ("journal:journal", "Look at a loop's journal, verify it, import and export data."),
    "models": ("models:models", "See and change the models of a running loop."),
    "experiments": (
        "experiments:experiments",
        "Compare the models of a running loop on live traffic.",
    ),
}
"""Where each command is, as `module:function`, and its line in the list of commands.

A line repeats the first one of the command's docstring, so that the list imports no command.
"""


class _LateGroup(TyperGroup):
    """A group that imports a command's module only when that command is called.

    Typer builds every command with all its options before it looks at the arguments, which takes a
    tenth of a second. So the application has stand-ins with a name and a line of help, and the
    command that the arguments name takes the place of its stand-in.
    """

    def get_help(self, ctx: Any) -> Any:
        """Return the help, with values named as in that of the commands."""
        from rankloop.cli.help_looks import name_values

        name_values(self)
        return super().get_help(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the arguments name, and build it."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, _build(name or ""), rest


@functools.cache
def _build(name: str) -> Any:
    from rankloop.cli.help_looks import name_values

    module, attribute = COMMANDS[name][0].split(":")
    command = getattr(import_module(f"rankloop.cli.{module}"), attribute)
    if not isinstance(command, typer.Typer):  # a function, and not a group such as clicks
        alone = typer.Typer(add_completion=False)
        alone.command(name)(catch_errors(command))
        command = alone
    built = typer.main.get_command(command)
    built.name = name
    return name_values(built)


app = typer.Typer(
    cls=_LateGroup,
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
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            help="Import a module or a .py file first; every command then knows the rankers and "
            "losses that it registers. It may also follow the command.",
            metavar="MODULE",
        ),
    ] = None,
) -> None:
    """Learning to rank that never stops learning."""


for _name, (_, _line) in COMMANDS.items():
    app.command(_name, help=_line)(lambda: None)
