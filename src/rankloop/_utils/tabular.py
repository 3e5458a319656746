"""Results that print as tables: aligned text for people, HTML for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Row = Mapping[str, object]


class Tabular(ABC):
    """What has rows: `print` and notebooks show them as a table.

    A subclass writes `_rows`, which returns one dictionary per row, with the same keys.
    """

    @abstractmethod
    def _rows(self) -> Sequence[Row]:
        """Return the rows."""

    def __str__(self) -> str:
        return text_table(self._rows())

    def _repr_html_(self) -> str:
        rows = self._rows()
        names = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(show(v))}</td>' for v in row.values())}</tr>"
            for row in rows
        )
        return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def text_table(rows: Sequence[Row]) -> str:
    """Return rows as aligned text, numbers to the right.

    >>> print(text_table([{"measure": "AP", "mean": 0.5}, {"measure": "P@1", "mean": 0.25}]))
    measure    mean
    AP       0.5000
    P@1      0.2500
    """
    if not rows:
        return "(no rows)"
    names = list(rows[0])
    cells = [names, *([show(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[j]) for line in cells) for j in range(len(names))]
    right = [all(_is_number(row[name]) for row in rows) for name in names]
    lines: Iterable[str] = (
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in cells
    )
    return "\n".join(lines)


def show(value: Any) -> str:
    """Return a value as text: counts as whole numbers, others with four digits that matter.

    >>> show(6000), show(6000.0), show(0.98765), show(40031.25), show(1.23e-05), show(None)
    ('6,000', '6,000', '0.9877', '40,031', '1.23e-05', '-')
    """
    if value is None or value != value:
        return "-"
    if isinstance(value, bool) or not _is_number(value):
        return "yes" if value is True else "" if value is False else str(value)
    size = abs(value)
    if value == int(value) if size < 1e15 else False:
        return f"{int(value):,}" if size >= 10 or isinstance(value, int) else f"{value:.4f}"
    if size >= 1000:
        return f"{value:,.0f}" if size < 1e9 else f"{value:.3g}"
    if size >= 10:
        return f"{value:.2f}"
    return f"{value:.4f}" if size >= 0.001 else f"{value:.3g}"


def _is_number(value: object) -> bool:
    return value is None or (hasattr(value, "__round__") and hasattr(value, "__abs__"))
