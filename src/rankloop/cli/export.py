"""`rankloop export` and `rankloop import`: models in the forms of other engines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.tables import print_json


def _check_target(name: str) -> None:
    from rankloop.export.targets import TARGETS, target

    if name not in TARGETS:
        raise typer.BadParameter(
            f"unknown target {name!r}{o.did_you_mean(name, list(TARGETS))}; known: "
            + ", ".join(TARGETS)
        )
    target(name)


def export(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="json, c, sql, onnx, elasticsearch[-native], opensearch, solr or vespa.",
            callback=o.check_with(_check_target),
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File to write.", callback=o.check_with(o.check_folder)
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option("--features", help="Names of the features, in order, separated by commas."),
    ] = None,
    verify: Annotated[
        str | None,
        typer.Option("--verify", help="Score this data through the exported form, and compare."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the model in a search engine.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option("--dialect", help="SQL: postgresql, duckdb or sqlite.")
    ] = None,
    table: Annotated[str | None, typer.Option("--table", help="SQL: the table to read.")] = None,
    query: Annotated[
        str | None, typer.Option("--query", help="SQL: its column of query ids.")
    ] = None,
    document: Annotated[
        str | None, typer.Option("--document", help="SQL: its column of document ids.")
    ] = None,
    database: Annotated[
        str | None,
        typer.Option("--database", help="SQL: address of the PostgreSQL server to verify in."),
    ] = None,
    json: o.Json = False,
) -> None:
    """Write a model for another engine; --verify compares its scores with the original ones."""
    from dataclasses import asdict

    from rankloop.data.io.formats import read
    from rankloop.export.exporting import export as exported
    from rankloop.export.exporting import verify as verify_export
    from rankloop.rankers.model_files.saving import load
    from rankloop.rankers.training import read_like

    if output is None and verify is None:
        raise typer.BadParameter(
            "give -o FILE to write the model, --verify DATA to compare scores, or both"
        )
    given = {
        "name": name,
        "dialect": dialect,
        "table": table,
        "query": query,
        "document": document,
        "database": database,
    }
    options = {key: value for key, value in given.items() if value is not None}
    ranker = load(model)
    names = None if features is None else [text.strip() for text in features.split(",")]
    data = None if verify is None else read(verify, labelled=False, **read_like(ranker))
    if output is not None:
        exported(ranker, to, output, features=names, **options)
    if data is None:
        return
    check = verify_export(ranker, to, data, features=names, **options)
    if json:
        print_json({**asdict(check), "verdict": check.verdict})
    else:
        by = "the engine itself" if check.real else "our copy of its arithmetic"
        typer.echo(
            f"{to}: {check.verdict}, by {by}\n"
            f"{check.rows:,} rows, of which {check.rows_different:,} have another score and "
            f"{check.rows_apart:,} differ by more than 1e-6; the largest difference is "
            f"{check.largest:.2g}\n"
            f"{check.queries:,} queries, of which {check.queries_reordered:,} are in another order"
        )
    if check.queries_reordered:
        raise typer.Exit(1)


def import_model(
    model: Annotated[
        Path, typer.Argument(help="LightGBM's text, XGBoost's JSON or UBJ, or CatBoost's JSON.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Model file to write.", callback=o.check_with(o.check_folder)
        ),
    ],
) -> None:
    """Convert a model of LightGBM, XGBoost or CatBoost to a model file, which serves it."""
    from rankloop.rankers.boosting.imported import Imported

    ranker = Imported.read(model)
    ranker.save(output)
    typer.echo(f"{output}: {ranker.rounds_} trees, {ranker.n_features_in_} features")
