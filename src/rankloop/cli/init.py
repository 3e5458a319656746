"""`rankloop init`: look at data, and write a configuration that says how to read it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups


@takes_groups
def init(
    source: DataSource,
    output: Annotated[Path, typer.Option("--output", "-o", help="Configuration to write.")] = Path(
        "rankloop.toml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Look at data and write a configuration with comments, for `--config` of other commands."""
    from rankloop.data.configuration import describe, write

    if output.exists() and not force:
        raise typer.BadParameter(f"{output} exists already; give --force to replace it")
    options = {name: value for name, value in source.options.items() if name != "notice"}
    description = describe(source.places, options)
    write(description, output)
    typer.echo(f"{output}: {description.summary}")
    typer.echo(f"Next: rankloop train --config {output} -o model.rlm")
