"""The tables of a comparison, as text for the terminal and for reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankloop.experiments.fold_result import FoldResult
    from rankloop.experiments.standings import Standing, Standings


@dataclass(frozen=True)
class Table:
    """A table of text with a title; `note` explains its signs."""

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
    """Return one table per measure and convention, and one of choices and costs."""
    by_measure = [_measure_table(standings, *panel) for panel in standings.panels]
    return [*by_measure, _cost(standings)]


def _measure_table(standings: Standings, measure: str, convention: str) -> Table:
    rows = standings.panel(measure, convention)
    tested = any(row.against is not None for row in rows)
    columns = ["ranker", "mean", "± folds", f"± {standings.unit}"]
    note = ""
    if tested:
        columns += [f"against {standings.baseline}", "95% interval", "won/tied/lost", "p (Holm)"]
        note = f"* significant at 0.05 by {standings.test}, Holm-corrected."
    return Table(
        f"{measure} ({convention})",
        columns,
        [
            [
                row.ranker,
                _four_digits(row.mean),
                _four_digits(row.std) if len(row.fold_means) > 1 else "",
                _four_digits(row.se),
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
        _four_digits(d.p_adjusted),
    ]


def _cost(standings: Standings) -> Table:
    rows = []
    for name in standings.rankers:
        results = standings.results(name)
        rows.append(
            [
                name,
                chosen_text(results),
                str(len(results[0].tried)),
                f"{sum(result.seconds for result in results):.2f}",
                f"{round(sum(result.model_bytes for result in results) / len(results)):,}",
            ]
        )
    columns = ["ranker", "chosen, fold by fold", "settings tried", "seconds", "model bytes"]
    return Table("What was chosen, and what it cost", columns, rows)


def chosen_text(results: tuple[FoldResult, ...]) -> str:
    """Return what was chosen on each fold, for each parameter, and the rounds if there are any.

    If all folds agree, the value is given once.
    """
    by_name = {name: [result.chosen[name] for result in results] for name in results[0].chosen}
    if all(result.rounds is not None for result in results):
        by_name["rounds"] = [result.rounds for result in results]
    return "; ".join(f"{name} {_values(values)}" for name, values in by_name.items())


def _values(values: list[object]) -> str:
    texts = [f"{v:g}" if isinstance(v, float) else str(v) for v in values]
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


def _four_digits(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4f}"


def _is_number(text: str) -> bool:
    return text.strip("*+-").replace(",", "").replace(".", "", 1).isdigit()
