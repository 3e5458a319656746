"""What a run leaves behind: JSON, a page of Markdown, pictures."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from rankloop.data.io.replacing import replace_when_done
from rankloop.experiments.papers.declaration import Verdict
from rankloop.plotting.curves import plot_curves
from rankloop.plotting.save import save_figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rankloop.experiments.papers.declaration import Experiment
    from rankloop.experiments.papers.runner import Judged, Outcome


def write(outcome: Outcome, folder: Path) -> list[Path]:
    """Write an outcome into a folder; return the files, the page first."""
    folder.mkdir(parents=True, exist_ok=True)
    name = outcome.experiment.id
    pictures = []
    for part, found in outcome.found.items():
        if not found.curves:
            continue
        picture = folder / (re.sub(r"[^\w.-]+", "-", f"{name}-{part}") + ".png")
        title = f"{part}: {outcome.sources[part]}"
        save_figure(plot_curves(found.curves, found.axes, title), picture)
        pictures.append(picture)
    page, numbers = folder / f"{name}.md", folder / f"{name}.json"
    _write(page, markdown(outcome, [picture.name for picture in pictures]))
    _write(numbers, json.dumps(outcome.to_dict(), indent=1) + "\n")
    return [page, numbers, *pictures]


def markdown(outcome: Outcome, pictures: list[str]) -> str:
    """Return the page of one experiment."""
    experiment = outcome.experiment
    counts = ", ".join(f"{n} {verdict}" for verdict, n in outcome.count().items() if n)
    most = outcome.setting.max_trials
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
        *(_line(judged) for judged in outcome.judged if judged.verdict != Verdict.NOT_RUN),
    ]
    missing = sorted({(j.part, str(j.verdict), j.why) for j in outcome.judged if j.why})
    remarks = [
        *(f"- {part}: {verdict}, {why}" for part, verdict, why in missing),
        *(f"- {part}: {note}" for part, found in outcome.found.items() for note in found.notes),
    ]
    lines += ["", f"**Why some are far.** {outcome.reason}"] if outcome.reason else []
    lines += ["", *remarks] if remarks else []
    lines += ["", *(f"![{picture}]({picture})" for picture in pictures)]
    return "\n".join(lines).rstrip() + "\n"


def write_index(folder: Path, experiments: Iterable[Experiment]) -> Path:
    """Write a page that leads to those of all experiments that have been run into a folder."""
    verdicts = [str(verdict) for verdict in Verdict]
    lines = [
        "# Tables and figures of the papers",
        "",
        "| experiment | what it shows | " + " | ".join(verdicts) + " |",
        "|---|---|" + "---:|" * len(verdicts),
    ]
    sums = dict.fromkeys(verdicts, 0)
    for experiment in experiments:
        name, numbers = experiment.id, folder / f"{experiment.id}.json"
        if not numbers.is_file():
            continue
        told = json.loads(numbers.read_text())
        counts = {verdict: told["verdicts"].get(verdict, 0) for verdict in verdicts}
        sums = {verdict: sums[verdict] + n for verdict, n in counts.items()}
        most = told.get("max_trials")
        shows = experiment.shows + (f" (at most {most} trials)" if most else "")
        lines.append(f"| [{name}]({name}.md) | {shows} | {_cells(counts)} |")
    lines.append(f"| all | | {_cells(sums)} |")
    path = folder / "results.md"
    _write(path, "\n".join(lines) + "\n")
    return path


def _cells(counts: Mapping[str, int]) -> str:
    return " | ".join(map(str, counts.values()))


def _line(judged: Judged) -> str:
    spread = f"{judged.spread:.4f}" if judged.spread else ""
    where = f"{judged.data}, {judged.convention}" if judged.published is not None else judged.data
    return (
        f"| {judged.part} | {where} | {judged.name} | {judged.ours:.4f} | {spread} "
        f"| {judged.expected} | {judged.verdict} |"
    )


def _write(path: Path, text: str) -> None:
    with replace_when_done(path) as partial:
        partial.write_text(text)
