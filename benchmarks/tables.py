"""Reports as text, Markdown and JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.harness import Report, Target

_HEADER = ("", "best", "median", "CPU", "speed", "x ours", "x ours, CPU")


def as_text(report: Report) -> str:
    """Columns for a terminal."""
    rows = [_HEADER, *_cells(report)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
    lines = [report.title, "-" * len(report.title)]
    for name, *numbers in rows:
        cells = [n.rjust(w) for n, w in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *cells]).rstrip())
    lines += [f"  target {line}" for line in map(_target, report.targets)]
    lines += [f"  {note}" for note in _notes(report)]
    return "\n".join(lines) + "\n"


def as_markdown(report: Report) -> str:
    """Tables for README.md."""
    lines = [f"### {report.title}", "", _line(_HEADER), "|---|" + "---:|" * (len(_HEADER) - 1)]
    lines += [_line(row) for row in _cells(report)]
    lines += [""] + [f"- Target {line}" for line in map(_target, report.targets)]
    lines += [f"- {note}" for note in _notes(report)]
    return "\n".join(lines) + "\n"


def as_json(report: Report) -> dict[str, Any]:
    """Everything, for machines."""
    targets = [asdict(target) | {"met": target.met} for target in report.targets]
    return asdict(report) | {"targets": targets}


def _cells(report: Report) -> list[tuple[str, ...]]:
    rows = []
    for t in report.timings:
        ratios = ["", ""]
        if t.against is not None:
            found = [report.ratio(t.name, t.against, clock) for clock in ("best", "cpu")]
            ratios = ["" if r is None else f"{r:.3g}" for r in found]
        speed = "" if report.work is None else _speed(report.work / t.best, report.unit)
        seconds = [_seconds(s) for s in (t.best, t.median, t.cpu)]
        rows.append((t.name, *seconds, speed, *ratios))
    return rows


def _notes(report: Report) -> list[str]:
    return [f"{t.name}: {t.note}" for t in report.timings if t.note] + report.notes


def _target(target: Target) -> str:
    sign = ">=" if target.at_least else "<="
    verdict = {True: "met", False: "MISSED", None: "not measured"}[target.met]
    found = "" if target.value is None else f"{target.value:.3g}, "
    return f"{target.what} {sign} {target.bound:g}: {found}{verdict}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def _speed(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
