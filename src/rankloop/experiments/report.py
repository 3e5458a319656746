"""The report of a comparison: Markdown, or HTML that needs no other file."""

from __future__ import annotations

import html
import platform
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop._utils.arguments import path_text
from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import DataError, MissingExtraError
from rankloop.experiments.pages import drawing, page
from rankloop.experiments.pages import table as html_table
from rankloop.experiments.report_tables import Table, tables
from rankloop.measures.conventions import CONVENTIONS

if TYPE_CHECKING:
    import os

    from rankloop.experiments.standings import Standings


def check_report_path(
    path: str | os.PathLike[str], suffixes: tuple[str, ...] = (".md", ".html")
) -> str:
    """Return `md` or `html`, or raise; call it before hours of work."""
    place = Path(path_text(path))
    if place.suffix.lower() not in suffixes:
        known = " or ".join(suffixes)
        raise DataError(f"cannot write a report as {place}: expected a name that ends in {known}")
    if not place.absolute().parent.is_dir():
        raise DataError(f"cannot write {place}: there is no folder {place.parent}; make it first")
    return place.suffix.lower()[1:]


def write_report(
    standings: Standings, path: str | os.PathLike[str], command: str | None = None
) -> None:
    """Write a report; an error leaves an old file unchanged.

    HTML contains its figure; for Markdown, it is a PNG file with the same name in the same folder.
    Without matplotlib the figure is left out, and the report says so.

    Parameters
    ----------
    path : the suffix, `.md` or `.html`, determines the format
    command : the command line that made the comparison, if there was one
    """
    render = _markdown if check_report_path(path) == "md" else _html
    text = render(standings, Path(path), command)
    with replace_when_done(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _markdown(standings: Standings, path: Path, command: str | None) -> str:
    parts = [f"# {_title(standings)}", _picture_beside(standings, path)]
    for table in tables(standings):
        parts += [f"## {table.title}", _markdown_table(table), _escape(table.note)]
    parts += ["## How it was made", f"```\n{command}\n```" if command else ""]
    parts.append("\n".join(f"- {line}" for line in _method_lines(standings)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_table(table: Table) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(map(_escape, cells)) + " |"

    aligned = ["---:" if number else "---" for number in table.numbers]
    return "\n".join([line(table.columns), line(aligned), *map(line, table.rows)])


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def _html(standings: Standings, _: Path, command: str | None) -> str:
    title = _title(standings)
    parts = [f"<h1>{html.escape(title)}</h1>", _picture_inside(standings)]
    for table in tables(standings):
        note = f"<p>{html.escape(table.note)}</p>" if table.note else ""
        parts += [f"<h2>{html.escape(table.title)}</h2>", html_table(table), note]
    parts.append("<h2>How it was made</h2>")
    parts.append(f"<pre>{html.escape(command)}</pre>" if command else "")
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in _method_lines(standings))
    return page(title, [*parts, f"<ul>{lines}</ul>"])


def _picture_beside(standings: Standings, path: Path) -> str:
    from rankloop.plotting.compare import plot_standings
    from rankloop.plotting.figures import save_figure

    try:
        figure = plot_standings(standings)
    except MissingExtraError as error:
        return f"No figure: {error}"
    picture = path.with_suffix(".png")
    save_figure(figure, picture)
    return f"![Means and their standard errors]({picture.name})"


def _picture_inside(standings: Standings) -> str:
    from rankloop.plotting.compare import plot_standings

    try:
        figure = plot_standings(standings)
    except MissingExtraError as error:
        return f"<p>No figure: {html.escape(str(error))}</p>"
    return drawing(figure)


def _title(standings: Standings) -> str:
    return f"{', '.join(standings.rankers)}: a comparison"


def _method_lines(standings: Standings) -> list[str]:
    """Return lines that say how the numbers were computed."""
    import numpy as np

    from rankloop import __version__

    rules = dict.fromkeys(row.convention for row in standings.rows)
    return [
        *(f"{key}: {value}" for key, value in standings.setting.items()),
        "documents shuffled before they were measured",
        "± folds: standard deviation over folds; "
        f"± {standings.unit}: standard error over {standings.unit}",
        *(f"convention {rule}: {_meaning(rule)}" for rule in rules),
        f"rankloop {__version__}, NumPy {np.__version__}, Python {platform.python_version()} on "
        f"{platform.system()} {platform.machine()}",
    ]


def _meaning(rule: str) -> str:
    known = CONVENTIONS.get(rule)
    if known is None:
        return "one of your own"
    return "; ".join(known.describe(f.name) for f in fields(known) if f.name != "name")
