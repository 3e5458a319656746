"""What a run leaves behind: JSON, a page of Markdown, pictures."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from rankloop.data.io.replacing import replace_when_done
from rankloop.experiments.papers.declaration import ReproductionVerdict
from rankloop.plotting.curves import plot_curves
from rankloop.plotting.figures import save_figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rankloop.experiments.papers.declaration import Experiment
    from rankloop.experiments.papers.runner import Reproduction, ScoreComparison


_COUNTS = re.compile(r"^\*\*(.+?)\.\*\* Remake", re.MULTILINE)
_FEWER = re.compile(r"^This run had at most (\d+) trials", re.MULTILINE)


def write(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write a reproduction into a folder; return the files, the page first."""
    folder.mkdir(parents=True, exist_ok=True)
    name = reproduction.experiment.id
    pictures = []
    for part, result in reproduction.results.items():
        if not result.curves:
            continue
        picture = folder / (re.sub(r"[^\w.-]+", "-", f"{name}-{part}") + ".png")
        title = f"{part}: {reproduction.sources[part]}"
        save_figure(plot_curves(result.curves, result.axes, title), picture)
        shrink_picture(picture)
        pictures.append(picture)
    page, numbers = folder / f"{name}.md", folder / f"{name}.json"
    _write(page, markdown(reproduction, [picture.name for picture in pictures]))
    _write(numbers, json.dumps(reproduction.to_dict(), indent=1) + "\n")
    return [page, numbers, *pictures]


def shrink_picture(path: Path) -> None:
    """Keep 48 colours of a picture: lines and text have few, and it becomes a quarter as large."""
    from PIL import Image  # comes with matplotlib

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(48, dither=Image.Dither.NONE)
    with replace_when_done(path) as partial:
        small.save(partial, format="png", optimize=True)


def markdown(reproduction: Reproduction, pictures: list[str]) -> str:
    """Return the page of one experiment."""
    experiment = reproduction.experiment
    counts = ", ".join(f"{n} {verdict}" for verdict, n in reproduction.count().items() if n)
    most = reproduction.setting.max_trials
    fewer = f" --trials {most}" if most else ""
    lines = [
        f"# {experiment.id}: {experiment.source}",
        "",
        f"{experiment.paper}. {experiment.shows}",
        "",
        f"**{counts}.** Remake it with "
        f"`rankloop reproduce {experiment.id} --data DIR --output DIR{fewer}`.",
        *(["", f"This run had at most {most} trials where more are declared."] if most else []),
        "",
        "| part | data | value | ours | ± | published | verdict |",
        "|---|---|---|---:|---:|---:|---|",
        *(
            _line(comparison)
            for comparison in reproduction.comparisons
            if comparison.verdict != ReproductionVerdict.NOT_RUN
        ),
    ]
    missing: dict[tuple[str, str], dict[str, int]] = {}
    for c in reproduction.comparisons:
        if c.why:
            parts = missing.setdefault((str(c.verdict), c.why), {})
            parts[c.part] = parts.get(c.part, 0) + 1
    remarks = [
        *(
            f"- {', '.join(parts)}: {verdict} ({sum(parts.values())}): {why}"
            for (verdict, why), parts in missing.items()
        ),
        *(
            f"- {part}: {note}"
            for part, result in reproduction.results.items()
            for note in result.notes
        ),
    ]
    lines += ["", f"**Why some are far.** {reproduction.reason}"] if reproduction.reason else []
    lines += ["", *remarks] if remarks else []
    lines += ["", *(f"![{picture}]({picture})" for picture in pictures)]
    return "\n".join(lines).rstrip() + "\n"


def write_index(folder: Path, experiments: Iterable[Experiment]) -> Path:
    """Write a page that leads to those of all experiments that have been run into a folder.

    It reads their pages, since these are what is kept of a run.
    """
    verdicts = [str(verdict) for verdict in ReproductionVerdict]
    lines = [
        "# Tables and figures of the papers",
        "",
        "| experiment | what it shows | " + " | ".join(verdicts) + " |",
        "|---|---|" + "---:|" * len(verdicts),
    ]
    sums = dict.fromkeys(verdicts, 0)
    for experiment in experiments:
        name, page = experiment.id, folder / f"{experiment.id}.md"
        if not page.is_file():
            continue
        text = page.read_text()
        found = _COUNTS.search(text)
        known = dict(part.split(" ", 1)[::-1] for part in found[1].split(", ")) if found else {}
        counts = {verdict: int(known.get(verdict, 0)) for verdict in verdicts}
        sums = {verdict: sums[verdict] + n for verdict, n in counts.items()}
        fewer = _FEWER.search(text)
        shows = experiment.shows + (f" (at most {fewer[1]} trials)" if fewer else "")
        lines.append(f"| [{name}]({name}.md) | {shows} | {_cells(counts)} |")
    lines.append(f"| all | | {_cells(sums)} |")
    path = folder / "results.md"
    _write(path, "\n".join(lines) + "\n")
    return path


def _cells(counts: Mapping[str, int]) -> str:
    return " | ".join(map(str, counts.values()))


def _line(comparison: ScoreComparison) -> str:
    spread = f"{comparison.spread:.4f}" if comparison.spread else ""
    where = comparison.data
    if comparison.published is not None:
        where += f", {comparison.convention}"
    return (
        f"| {comparison.part} | {where} | {comparison.name} | {comparison.ours:.4f} | {spread} "
        f"| {comparison.expected} | {comparison.verdict} |"
    )


def _write(path: Path, text: str) -> None:
    with replace_when_done(path) as partial:
        partial.write_text(text)
