"""`rankloop explain`: what a model looks at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.output import print_json, print_table


def explain(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    top: Annotated[
        int | None, typer.Option("--top", help="Only this many, most important first.", min=1)
    ] = None,
    json: o.Json = False,
) -> None:
    """Show the parts of a model, most important first."""
    from rankloop.exceptions import DataError
    from rankloop.learners.saving import load

    ranker = load(model)
    if not hasattr(ranker, "explain"):
        raise DataError(
            f"{model}: a {type(ranker).__name__} has no parts that could be shown; linear and "
            "boosted learners have"
        )
    parts = ranker.explain()[:top]
    if json:
        print_json(parts)
        return
    columns = list(dict.fromkeys(key for part in parts for key in part))
    print_table(columns, ([_shown(part.get(key)) for key in columns] for part in parts))


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return f"{value:+.4g}" if isinstance(value, float) else str("" if value is None else value)
