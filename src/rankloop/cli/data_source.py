"""The data source: one value with the locations that a command reads and how it reads them."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options import check_format, check_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.data.dataset import QueryDataset
    from rankloop.data.io.tables.roles import Columns

Names = list[str]
Column = str | None


def _column(option: str, text: str) -> object:
    return typer.Option(option, help=text, metavar="COLUMN", rich_help_panel="Columns of tables")


def _columns(option: str, text: str) -> object:
    return typer.Option(
        option, help=text, metavar="COLUMN[,COLUMN]", rich_help_panel="Columns of tables"
    )


@dataclass(frozen=True)
class DenseSource:
    """The data that a command reads as dense rows; each field is an option of the command line."""

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
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="letor, parquet, arrow, csv, tsv, jsonl, qrels or rlds; detected by default.",
            metavar="F",
            callback=check_with(check_format),
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
    include: Annotated[
        Names,
        _columns(
            "--include",
            "Features although their names look like leaks, such as position or clicked.",
        ),
    ] = field(default_factory=list)
    category: Annotated[
        Names,
        _columns("--category", "Numeric columns that are categories (text columns always are)."),
    ] = field(default_factory=list)
    missing: Annotated[
        Names,
        typer.Option(
            "--missing",
            help="Tables: another text for a missing value, besides NA, ?, - and others; repeat "
            "for more.",
            metavar="TEXT",
        ),
    ] = field(default_factory=list)
    decimal: Annotated[
        str | None,
        typer.Option("--decimal", help="Tables: the decimal sign, . or ,", metavar="SIGN"),
    ] = None
    thousands: Annotated[
        str | None,
        typer.Option(
            "--thousands", help="Tables: what separates thousands in numbers.", metavar="SIGN"
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", help="CSV, TSV: the encoding, such as latin-1.", metavar="E"),
    ] = None
    lists: Annotated[
        Names,
        _columns("--lists", "Text columns of several categories with their separator: genres=|."),
    ] = field(default_factory=list)
    skip_bad_rows: Annotated[
        bool,
        typer.Option(
            "--skip-bad-rows", help="Text, CSV, JSON lines: leave out bad rows, and count them."
        ),
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

    def __post_init__(self) -> None:
        if self.click is not None and self.label is not None:
            raise typer.BadParameter("give either --label or --click, not both")
        for name in ("features", "drop", "include", "category", "lists"):
            object.__setattr__(self, name, _split(getattr(self, name)))

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
        options = {
            "query": self.query,
            "label": self.click or self.label,
            "doc_id": self.doc_id,
            "doc_weight": self.weight,
            "position": self.position,
            "features": self.features,
            "drop": self.drop,
            "include": self.include,
            "category": self.category,
            "lists": self.lists,
            "missing": self.missing,
            "decimal": self.decimal,
            "thousands": self.thousands,
            "encoding": self.encoding,
            "skip_bad_rows": self.skip_bad_rows,
            "n_features": self.n_features,
            "null": None if self.null == 0 else self.null,
        }
        chosen = {name: value for name, value in options.items() if value not in (None, [], False)}
        return {"format": self.format, "notice": _report_guesses, **chosen}

    def to_words(self) -> list[str]:
        """Return these options as the words of a command line."""
        words = []
        for name in (f.name for f in fields(self) if f.name != "data"):
            value, option = getattr(self, name), f"--{name.replace('_', '-')}"
            if value is True:
                words.append(option)
            elif name == "missing":  # whose texts may have commas
                words += [word for text in value for word in (option, text)]
            elif value not in (None, [], False, 0.0):
                words += [option, ",".join(value) if isinstance(value, list) else str(value)]
        return words


@dataclass(frozen=True)
class DataSource(DenseSource):
    """The data that a command reads, as dense or sparse rows, perhaps with a configuration."""

    config: Annotated[
        str | None,
        typer.Option("--config", help="Configuration from `rankloop init`.", metavar="F"),
    ] = None
    sparse: Annotated[
        bool,
        typer.Option(
            "--sparse", help="Text: keep nonzeros only, for rankers that take sparse rows."
        ),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.config is None:
            return
        from rankloop.data.configuration import read_configuration

        settings = read_configuration(self.config)
        settings["data"] = settings.pop("paths", [])
        for option in fields(self):
            default = [] if option.default is MISSING else option.default
            # An option on the command line has priority over the configuration.
            if option.name in settings and getattr(self, option.name) == default:
                object.__setattr__(self, option.name, settings[option.name])

    @property
    def options(self) -> dict[str, Any]:
        """The given options, in the form that readers take."""
        return {**super().options, **({"sparse": True} if self.sparse else {})}


def _split(names: list[str]) -> list[str]:
    return [part.strip() for name in names for part in name.split(",") if part.strip()]


def _report_guesses(columns: Columns) -> None:
    if columns.guessed:
        typer.echo(columns, err=True)
