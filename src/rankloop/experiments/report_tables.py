"""The tables that tell a comparison, as text: for the terminal and for reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankloop.experiments.cell import Cell
    from rankloop.experiments.standings import Standing, Standings


@dataclass(frozen=True)
class Table:
    """A titled table of text; `note` says what its signs mean."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""

    @property
    def numbers(self) -> list[bool]:
        """Whether each column holds numbers."""
        columns = ([row[i] for row in self.rows] for i in range(len(self.columns)))
        return [bool("".join(c)) and all(map(_is_number, filter(None, c))) for c in columns]


def tables(standings: Standings) -> list[Table]:
    """Return one table a measure and convention, and what each learner chose and cost."""
    found = [_measured(standings, *panel) for panel in standings.panels]
    return [*found, _cost(standings)]


def _measured(standings: Standings, measure: str, convention: str) -> Table:
    rows = standings.panel(measure, convention)
    tested = any(row.against is not None for row in rows)
    columns = ["learner", "mean", "± folds", f"± {standings.unit}"]
    note = ""
    if tested:
        columns += [f"against {standings.baseline}", "95% interval", "won/tied/lost", "p (Holm)"]
        note = f"* significant at 0.05 by {standings.test}, Holm-corrected."
    return Table(
        f"{measure} ({convention})",
        columns,
        [
            [
                row.learner,
                _fixed(row.mean),
                _fixed(row.std) if len(row.fold_means) > 1 else "",
                _fixed(row.se),
                *(_difference(row) if tested else []),
            ]
            for row in rows
        ],
        note,
    )


def _difference(row: Standing) -> list[str]:
    d = row.against
    if d is None:
        return [""] * 4
    return [
        f"{d.difference:+.4f}" + ("*" if d.significant else ""),
        f"{d.ci_low:+.4f} to {d.ci_high:+.4f}",
        f"{d.wins}/{d.ties}/{d.losses}",
        _fixed(d.p_adjusted),
    ]


def _cost(standings: Standings) -> Table:
    rows = []
    for name in standings.learners:
        cells = standings.cells(name)
        rows.append(
            [
                name,
                chosen_text(cells),
                str(len(cells[0].tried)),
                f"{sum(cell.seconds for cell in cells):.2f}",
                f"{round(sum(cell.model_bytes for cell in cells) / len(cells)):,}",
            ]
        )
    columns = ["learner", "chosen, fold by fold", "settings tried", "seconds", "model bytes"]
    return Table("What was chosen, and what it cost", columns, rows)


def chosen_text(cells: tuple[Cell, ...]) -> str:
    """Say what was chosen fold by fold, parameter by parameter; rounds too, where there are any.

    One value is said once where all folds agree.
    """
    told = {name: [cell.chosen[name] for cell in cells] for name in cells[0].chosen}
    if all(cell.rounds is not None for cell in cells):
        told["rounds"] = [cell.rounds for cell in cells]
    return "; ".join(f"{name} {_values(values)}" for name, values in told.items())


def _values(values: list[object]) -> str:
    texts = [f"{v:g}" if isinstance(v, float) else str(v) for v in values]
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


def _fixed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4f}"


def _is_number(text: str) -> bool:
    return text.strip("*+-").replace(",", "").replace(".", "", 1).isdigit()
