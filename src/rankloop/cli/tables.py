"""How commands show results: as tables for people, or as JSON, CSV, LaTeX and Markdown."""

from __future__ import annotations

import csv
import io
import json as json_module
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop._utils.tabular import show

if TYPE_CHECKING:
    from rich.table import Table

_PANEL = "Output format"
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": "$<$",
    ">": "$>$",
}


@dataclass(frozen=True)
class Printer:
    """How a command shows its result; each field is an option of the command line."""

    json: Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=_PANEL)] = (
        False
    )
    csv: Annotated[
        bool, typer.Option("--csv", help="Print tables as CSV.", rich_help_panel=_PANEL)
    ] = False
    latex: Annotated[
        bool, typer.Option("--latex", help="Print tables as LaTeX.", rich_help_panel=_PANEL)
    ] = False
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print tables as Markdown.", rich_help_panel=_PANEL)
    ] = False

    def __post_init__(self) -> None:
        if self.json + self.csv + self.latex + self.markdown > 1:
            raise typer.BadParameter("give only one of --json, --csv, --latex and --markdown")

    @property
    def to_people(self) -> bool:
        """Whether the result is text for people, with notes."""
        return not (self.json or self.csv or self.latex or self.markdown)

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
    ) -> None:
        """Print one table in the chosen form; the command prints JSON itself."""
        if self.csv:
            write(csv_text(columns, rows))
        elif self.latex:
            write(latex_text(columns, rows, title))
        elif self.markdown:
            write(markdown_text(columns, rows, title))
        else:
            print_table(columns, rows, title)

    def note(self, text: str) -> None:
        """Print a note for people."""
        if self.to_people:
            write(f"{text}\n")
        elif self.markdown:
            write(f"{text}\n\n")

    def records(self, records: Sequence[Mapping[str, object]]) -> bool:
        """Print records if JSON or CSV was chosen; return whether it was."""
        if self.json:
            print_json(list(records))
        elif self.csv:
            plain = [{k: v for k, v in record.items() if _is_plain(v)} for record in records]
            columns = list(dict.fromkeys(key for record in plain for key in record))
            write(csv_text(columns, ([record.get(key) for key in columns] for record in plain)))
        return self.json or self.csv


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def write(text: str) -> None:
    """Write text to standard output, also if its reader has stopped reading."""
    sys.stdout.write(text)


def print_json(value: object) -> None:
    """Print one JSON document."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    write(json_text(value, ascii_only))


def json_text(value: object, ascii_only: bool = False) -> str:
    """Return one JSON document."""
    return json_module.dumps(value, indent=2, ensure_ascii=ascii_only, allow_nan=False) + "\n"


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV, numbers with all their digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(["" if v is None or v != v else v for v in row] for row in rows)
    return out.getvalue()


def markdown_text(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
) -> str:
    """Return a table as Markdown.

    >>> print(markdown_text(["ranker", "mean"], [["slam", 0.5]]).strip())
    | ranker | mean |
    | --- | ---: |
    | slam | 0.5000 |
    """
    cells = [[cell(value).replace("|", "\\|").replace("\n", " ") for value in row] for row in rows]
    marks = ["---:" if right else "---" for right in _numbers(cells, len(columns))]
    lines = [f"| {' | '.join(row)} |" for row in ([*columns], marks, *cells)]
    head = f"**{title}**\n\n" if title else ""
    return head + "\n".join(lines) + "\n\n"


def latex_text(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
) -> str:
    """Return a table as LaTeX's `tabular`, with the rules of `booktabs`."""
    cells = [[_escape(cell(value)) for value in row] for row in rows]
    shape = "".join("r" if right else "l" for right in _numbers(cells, len(columns)))
    lines = [f"% {title}"] if title else []
    lines += [rf"\begin{{tabular}}{{{shape}}}", r"\toprule"]
    lines += [" & ".join(map(_escape, columns)) + r" \\", r"\midrule"]
    lines += [" & ".join(row) + r" \\" for row in cells]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n\n"


def _escape(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text.replace("\n", " "))


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
) -> None:
    """Print a table; if it is wider than the terminal, print one value per line."""
    from rich.console import Console

    out = io.StringIO()
    real = Console()
    width = real.width if real.is_terminal else 1000  # a pipe has no width: cut nothing
    cells = [[cell(value) for value in row] for row in rows]
    encoding = sys.stdout.encoding
    drawn = _draw(columns, cells, title, ascii_only=not (encoding or "").lower().startswith("utf"))
    console = Console(
        file=out,
        width=width,
        force_terminal=real.is_terminal,
        color_system=real.color_system,  # type: ignore[arg-type]
        legacy_windows=real.legacy_windows,
        no_color=real.no_color,
    )
    if console.measure(drawn, options=console.options.update(width=10_000)).maximum <= width:
        console.print(drawn)
        write(out.getvalue())
    else:
        write(_stack(columns, cells, title))


def _draw(
    columns: Sequence[str], cells: list[list[str]], title: str | None, ascii_only: bool
) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        *columns,
        title=None if title is None else Text(title),
        title_justify="left",
        box=box.ASCII2 if ascii_only else box.SIMPLE_HEAD,
        show_header=any(columns),
    )
    for column, right in zip(table.columns, _numbers(cells, len(columns)), strict=True):
        column.justify = "right" if right else "left"
        column.no_wrap = True
    for row in cells:
        table.add_row(*(Text(text) for text in row))
    return table


def _stack(columns: Sequence[str], cells: list[list[str]], title: str | None) -> str:
    """Return each row as lines of name and value."""
    wide = max((len(name) for name in columns), default=0)
    blocks = [
        "".join(
            f"  {name:<{wide}}  {value}\n" if any(columns) else f"  {value}\n"
            for name, value in zip(columns, row, strict=True)
            if value
        )
        for row in cells
    ]
    head = f"{title}\n\n" if title else ""
    return head + "\n".join(blocks) + "\n"


def _numbers(cells: Sequence[Sequence[str]], width: int) -> list[bool]:
    """Return which columns hold numbers, which are aligned to the right."""
    numbers = []
    for i in range(width):
        texts = [row[i].strip("*+-%~ ").replace(",", "") for row in cells if row[i]]
        numbers.append(bool(texts) and all(map(_is_number, texts)))
    return numbers


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).replace("e-", "", 1).isdigit()


def quality_cells(rankings: int, mean: float, recent: float) -> list[object]:
    """Return the quality of a model as cells; without rankings there is none yet.

    >>> quality_cells(0, 0.0, 0.0)
    [0, '-', '-']
    """
    return [rankings, mean, recent] if rankings else [0, "-", "-"]


def cell(value: object) -> str:
    """Return one value as text for people."""
    if value is None or value != value:
        return ""
    return str(value) if isinstance(value, bool) else show(value)
