"""`rankloop simulate`: make a data set."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.tables import print_json


def simulate(
    kind: Annotated[
        str,
        typer.Argument(help="mslr-like, separable, predtron or predtron-sparse."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File to write; its suffix determines the format.",
            callback=o.check_with(o.check_folder),
        ),
    ],
    queries: Annotated[
        int, typer.Option("--queries", "-q", help="Number of queries.", min=1)
    ] = 100,
    seed: o.Seed = 0,
    param: Annotated[
        list[str],
        typer.Option(
            "--param", "-p", help="Parameter of the simulator, such as margin=0.5; repeat."
        ),
    ] = [],
    json: o.Json = False,
) -> None:
    """Simulate a data set; the same random seed gives the same data."""
    import numpy as np

    from rankloop.data.io.format_names import format_for
    from rankloop.data.io.formats import write_batches
    from rankloop.data.simulate import SIMULATORS

    if kind not in SIMULATORS:
        known = ", ".join(SIMULATORS)
        hint = o.did_you_mean(kind, list(SIMULATORS))
        raise typer.BadParameter(f"unknown simulator {kind!r}; known: {known}{hint}")
    parameters = _parameters(param)
    has = list(signature(SIMULATORS[kind]).parameters)[2:]
    unknown = [name for name in parameters if name not in has]
    if unknown:
        raise typer.BadParameter(f"{kind} has no parameter {unknown[0]!r}; it has {', '.join(has)}")
    simulated = SIMULATORS[kind](queries, np.random.default_rng(seed), **parameters)
    write_batches([simulated.data], output)
    facts = {
        "simulator": kind,
        "file": str(output),
        "format": format_for(output),
        "queries": simulated.data.n_queries,
        "documents": simulated.data.n_documents,
        "features": simulated.data.n_features,
        "seed": seed,
    }
    if json:
        print_json(facts)
    else:
        typer.echo(f"{output}: {simulated.data}")


def _parameters(items: list[str]) -> dict[str, float | int]:
    parameters: dict[str, float | int] = {}
    for item in items:
        name, _, text = item.partition("=")
        try:
            value = float(text)
        except ValueError:
            raise typer.BadParameter(f"write a parameter as name=number; found {item!r}") from None
        parameters[name.strip().replace("-", "_")] = int(value) if text.strip().isdigit() else value
    return parameters
