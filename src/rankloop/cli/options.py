"""Options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset

Data = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        help="Files or folders: LETOR text (.gz, .xz, .zst), Parquet, Arrow, or TREC qrels.",
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="letor, parquet, arrow or qrels; found out if not given.", metavar="F"
    ),
]
SkipBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave bad rows out, and say how many.")
]
NFeatures = Annotated[
    int | None,
    typer.Option("--n-features", help="Number of features; as many as found if not given."),
]
Null = Annotated[
    float, typer.Option("--null", help="Value for NULL; 'nan' keeps it missing.", metavar="X")
]
Metrics = Annotated[
    list[str],
    typer.Option("--metric", "-m", help="Measure, as nDCG@10 or AP(rel=2); repeat for more."),
]
Conventions = Annotated[
    list[str],
    typer.Option("--convention", "-c", help="standard, letor4, trec_eval, ...; repeat for more."),
]
Learners = Annotated[
    list[str],
    typer.Option(
        "--learner",
        "-l",
        help="Learner, as slam or solar-ii:gamma=1000; repeat for more. See `rankloop learners`.",
        show_default=False,
    ),
]
Scale = Annotated[
    str | None,
    typer.Option("--scale", help="Scale features: query-minmax, standard or log.", metavar="S"),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Draw it into this .png, .svg or .pdf file.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all randomness.", min=0)]


def letor_options(
    skip_bad_rows: bool = False, n_features: int | None = None, null: float = 0.0
) -> dict[str, Any]:
    """Gather the options of the LETOR reader."""
    return {"skip_bad_rows": skip_bad_rows, "n_features": n_features, "null": null}


def read_scaled(
    paths: list[Path], format: str | None, scale: str | None, **options: Any
) -> QueryDataset:
    """Read what DATA names, scaled on itself where asked for."""
    from rankloop.data.io.formats import read
    from rankloop.data.scaling import scaler_from_name

    data = read(*paths, format=format, **letor_options(**options))
    return data if scale is None else scaler_from_name(scale).fit(data).transform(data)
