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
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all randomness.", min=0)]


def letor_options(
    skip_bad_rows: bool = False, n_features: int | None = None, null: float = 0.0
) -> dict[str, Any]:
    """Gather the options of the LETOR reader."""
    return {"skip_bad_rows": skip_bad_rows, "n_features": n_features, "null": null}


def read(paths: list[Path], format: str | None, **options: Any) -> QueryDataset:
    """Read what DATA names."""
    from rankloop.data.formats import read as read_any

    return read_any(*paths, format=format, **options)
