"""Groups of options: for reading data, and for showing results.

`@reads_data` gives a command DATA... and all options of reading, as one argument `source`; `@shows`
gives it `--json`, `--csv`, `--latex` and `--markdown`, as one argument `shown`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options import check_format, checked
from rankloop.cli.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeVar

    from rankloop.data.dataset import QueryDataset
    from rankloop.data.io.tables.columns import Columns

    T = TypeVar("T")

Names = list[str]
Column = str | None


def _column(option: str, text: str) -> object:
    return typer.Option(option, help=text, metavar="COLUMN", rich_help_panel="Columns of tables")


def _columns(option: str, text: str) -> object:
    return typer.Option(
        option, help=text, metavar="COLUMN[,COLUMN]", rich_help_panel="Columns of tables"
    )


@dataclass(frozen=True)
class Source:
    """The data that a command reads; each field is an option of the command line."""

    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help="Files, folders or patterns: LETOR text, Parquet, Arrow, CSV, TSV, JSON lines, "
            "TREC qrels, mapped data sets (.rlds); s3://... and other stores; "
            "'duckdb:FILE?SELECT ...' or 'postgresql://...?SELECT ...'; - for standard input.",
            show_default=False,
        ),
    ] = field(default_factory=list)
    config: Annotated[
        str | None,
        typer.Option("--config", help="Configuration from `rankloop init`.", metavar="F"),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="letor, parquet, arrow, csv, tsv, jsonl, qrels or rlds; detected by default.",
            metavar="F",
            callback=checked(check_format),
        ),
    ] = None
    query: Annotated[Column, _column("--query", "Query ids; default: qid, query_id ...")] = None
    label: Annotated[Column, _column("--label", "Grades; default: label, grade ...")] = None
    click: Annotated[Column, _column("--click", "Clicks, 0 or 1, instead of grades.")] = None
    doc_id: Annotated[
        Column, _column("--doc-id", "Document ids; default: doc_id, product_id ...")
    ] = None
    weight: Annotated[Column, _column("--weight", "Weights of documents.")] = None
    position: Annotated[
        Column, _column("--position", "Position at which a document was shown; never a feature.")
    ] = None
    features: Annotated[
        Names, _columns("--features", "Features; default: all columns without another role.")
    ] = field(default_factory=list)
    drop: Annotated[Names, _columns("--drop", "Columns to leave out.")] = field(
        default_factory=list
    )
    category: Annotated[
        Names,
        _columns("--category", "Numeric columns that are categories (text columns always are)."),
    ] = field(default_factory=list)
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Text: leave out bad rows, and count them.")
    ] = False
    n_features: Annotated[
        int | None,
        typer.Option(
            "--n-features", help="Text: number of features; found in the data by default.", min=1
        ),
    ] = None
    null: Annotated[
        float,
        typer.Option("--null", help="Text: value for NULL; 'nan' keeps it missing.", metavar="X"),
    ] = 0.0

    sparse: Annotated[
        bool,
        typer.Option(
            "--sparse", help="Text: keep nonzeros only, for rankers that take sparse rows."
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.click is not None and self.label is not None:
            raise typer.BadParameter("give either --label or --click, not both")
        if self.config is not None:
            from rankloop.data.configuration import read_configuration

            for name, value in read_configuration(self.config).items():
                own = "data" if name == "paths" else name
                if getattr(self, own) in (None, [], False, 0.0):  # what is typed goes first
                    object.__setattr__(self, own, value)

    def read(self, *places: str, **more: object) -> QueryDataset:
        """Read the data, or other locations with the same options; report the columns found."""
        from rankloop.data.io.formats import read

        return read(*(places or self.places), **{**self.options, **more})

    @property
    def places(self) -> list[str]:
        """The locations to read; it is a usage error if there are none."""
        if not self.data:
            raise typer.BadParameter("Missing argument 'DATA...': give files, or --config")
        return self.data

    def batches(self, place: str, **more: object) -> Iterator[QueryDataset]:
        """Read one location in batches of whole queries."""
        from rankloop.data.io.formats import read_batches

        return read_batches(place, **{**self.options, **more})

    @property
    def options(self) -> dict[str, Any]:
        """The given options, in the form that readers take."""
        given = {
            "query": self.query,
            "label": self.click or self.label,
            "doc_id": self.doc_id,
            "doc_weight": self.weight,
            "position": self.position,
            "features": _split(self.features),
            "drop": _split(self.drop),
            "category": _split(self.category),
            "skip_bad_rows": self.skip_bad_rows,
            "n_features": self.n_features,
            "null": None if self.null == 0 else self.null,
            "sparse": self.sparse,
        }
        chosen = {name: value for name, value in given.items() if value not in (None, [], False)}
        return {"format": self.format, "notice": _tell, **chosen}

    def typed(self) -> list[str]:
        """Return these options as they would be typed."""
        words = []
        for name in (f.name for f in fields(self) if f.name != "data"):
            value, option = getattr(self, name), f"--{name.replace('_', '-')}"
            if value is True:
                words.append(option)
            elif value not in (None, [], False, 0.0):
                words += [option, ",".join(value) if isinstance(value, list) else str(value)]
        return words


def _split(names: list[str]) -> list[str]:
    return [part.strip() for name in names for part in name.split(",") if part.strip()]


def _tell(columns: Columns) -> None:
    if columns.guessed:
        typer.echo(columns, err=True)


def reads_data(command: Callable[..., T]) -> Callable[..., T]:
    """Give a command DATA... and the options of reading, as one argument `source`."""
    return _bundled(command, "source", Source)


def reads_tables(command: Callable[..., T]) -> Callable[..., T]:
    """Do as `reads_data`, for a command with a `--config` of its own that needs dense rows."""
    return _bundled(command, "source", Source, without=("config", "sparse"))


def shows(command: Callable[..., T]) -> Callable[..., T]:
    """Give a command the ways to show its result, as one argument `shown`."""
    return _bundled(command, "shown", Shown)


def _bundled(
    command: Callable[..., T], name: str, bundle: type, without: Sequence[str] = ()
) -> Callable[..., T]:
    own = inspect.signature(command, eval_str=True)
    known = inspect.signature(bundle, eval_str=True).parameters
    added = [parameter for parameter in known.values() if parameter.name not in without]

    @functools.wraps(command)
    def run(**given: object) -> T:
        taken = {parameter.name: given.pop(parameter.name) for parameter in added}
        return command(**given, **{name: bundle(**taken)})

    parameters = [p for p in own.parameters.values() if p.name != name]
    for parameter in added:
        default = parameter.default
        if default is not inspect.Parameter.empty and not isinstance(
            default, bool | str | int | float | None
        ):
            default = []
        parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default))
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [p.replace(kind=keyword) for p in parameters]
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
