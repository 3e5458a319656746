"""`rankloop import`: a model of LightGBM or XGBoost as a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o


def import_model(
    model: Annotated[Path, typer.Argument(help="LightGBM's text, or XGBoost's JSON.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Model file to write.", callback=o.check_with(o.check_folder)
        ),
    ],
) -> None:
    """Convert a model of LightGBM or XGBoost to a model file, to score, compare and serve it."""
    from rankloop.rankers.boosting.imported import Imported

    ranker = Imported.read(model)
    ranker.save(output)
    typer.echo(f"{output}: {ranker.rounds_} trees, {ranker.n_features_in_} features")
