"""Reports as HTML that needs no other file: the dashboard's colours, tables that sort, drawings."""

from __future__ import annotations

import html
import io
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.figure import Figure

    from rankloop.experiments.report_tables import Table

_STYLE = """
body { max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
body > svg { max-width: 100%; height: auto; border-radius: 10px; }
body > svg text { fill: var(--ink); }
pre, .across, body > svg { background: var(--panel); border: 1px solid var(--line); }
pre, .across { padding: .6rem 1rem; overflow-x: auto; margin: 1rem 0; border-radius: 10px; }
th, td { padding-right: 1.2rem; }
th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--accent); }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
tbody tr:hover { background: color-mix(in srgb, var(--accent) 12%, transparent); }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
"""

# A click on a heading sorts: numbers with the largest first, words from A; a second one turns it.
_SORT = """
for (const table of document.querySelectorAll("table"))
  for (const [column, head] of [...table.rows[0].cells].entries())
    head.firstElementChild.addEventListener("click", () => {
      const number = head.classList.contains("n"), before = head.ariaSort;
      const first = number ? "descending" : "ascending", last = number ? "ascending" : "descending";
      for (const other of table.rows[0].cells) other.ariaSort = null;
      head.ariaSort = before === first ? last : first;
      const sign = head.ariaSort === "ascending" ? 1 : -1;
      const value = (row) => row.cells[column].textContent.replaceAll(",", "");
      const known = (text) => (text === "" ? -Infinity : parseFloat(text));
      const order = (a, b) => (number ? known(a) - known(b) : a.localeCompare(b));
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => sign * order(value(a), value(b)));
      table.tBodies[0].append(...rows);
    });
"""

# What our figures are drawn in, and the page's own colours, which follow light and dark.
_COLOURS = {
    "#333333": "var(--ink)",
    "#000000": "var(--ink)",
    "#808080": "var(--quiet)",
    "#e4e4e4": "var(--line)",
    "#b0b0b0": "var(--line)",
    "#ffffff": "var(--panel)",
    "#3b6ea8": "var(--s1)",
    "#d1603d": "var(--s2)",
    "#4f9d69": "var(--s3)",
    "#8e5ea2": "var(--s5)",
    "#c9a227": "var(--s6)",
    "#b5446e": "var(--s4)",
    "#5f7a8a": "var(--s7)",
    "#1f1f1f": "var(--s0)",
}


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page of parts that are HTML already."""
    look = (files("rankloop") / "look.css").read_text(encoding="utf-8")
    phone = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    named = f"<title>{html.escape(title)}</title>"
    head = f'<meta charset="utf-8">{phone}{named}<style>{look}{_STYLE}</style>'
    body = "\n".join(part for part in parts if part)
    script = f"<script>{_SORT}</script>"
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n{script}\n'
        "</body></html>\n"
    )


def table(shown: Table, classes: dict[str, str] | None = None) -> str:
    """Return a table whose headings sort it; a cell whose text has a class gets it."""
    known = classes or {}

    def line(cells: Sequence[str], tag: str) -> str:
        tags = []
        for cell, number in zip(cells, shown.numbers, strict=True):
            marks = " ".join(filter(None, ["n" if number else "", known.get(cell, "")]))
            text = html.escape(cell)
            inner = f"<button>{text}</button>" if tag == "th" else text
            mark = f' class="{marks}"' if marks else ""
            tags.append(f"<{tag}{mark}>{inner}</{tag}>")
        return f"<tr>{''.join(tags)}</tr>"

    rows = "".join(line(row, "td") for row in shown.rows)
    head = line(shown.columns, "th")
    return f"<div class=across><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"


def drawing(figure: Figure) -> str:
    """Return a figure as SVG in the page's colours; the same figure gives the same text."""
    from matplotlib import rc_context

    drawn = io.StringIO()
    with rc_context({"svg.hashsalt": "rankloop", "svg.fonttype": "none"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    text = drawn.getvalue()
    text = text[text.index("<svg") :]
    for fixed, follows in _COLOURS.items():
        text = text.replace(fixed, follows)
    return text
