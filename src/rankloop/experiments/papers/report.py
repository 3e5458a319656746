"""What a run leaves behind: JSON, a page of Markdown, pictures."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from rankloop.data.io.replacing import replaced_when_done
from rankloop.experiments.papers.declaration import Verdict
from rankloop.plotting.curves import plot_curves
from rankloop.plotting.save import save_figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
    lines = [
        f"# {experiment.id}: {experiment.source}",
        "",
        f"{experiment.paper}. {experiment.shows}",
        "",
        f"**{counts}.** Remake it with `rankloop reproduce {experiment.id} --data DIR --out DIR`.",
        "",
        "| data | value | ours | spread | published | verdict |",
        "|---|---|---:|---:|---:|---|",
        *(_line(judged) for judged in outcome.judged if judged.verdict != Verdict.NOT_RUN),
    ]
    missing = sorted({(j.part, j.why) for j in outcome.judged if j.verdict == Verdict.NOT_RUN})
    remarks = [
        *(f"- {part}: not run, {why}" for part, why in missing),
        *(f"- {part}: {note}" for part, found in outcome.found.items() for note in found.notes),
    ]
    lines += ["", f"**Why some are far.** {outcome.reason}"] if outcome.reason else []
    lines += ["", *remarks] if remarks else []
    lines += ["", *(f"![{picture}]({picture})" for picture in pictures)]
    return "\n".join(lines).rstrip() + "\n"


def index(outcomes: Sequence[Outcome]) -> str:
    """Return a page that leads to those of the experiments."""
    verdicts = list(Verdict)
    lines = [
        "# Tables and figures of the papers",
        "",
        "| experiment | what it shows | " + " | ".join(verdicts) + " |",
        "|---|---|" + "---:|" * len(verdicts),
    ]
    for outcome in outcomes:
        experiment, counts = outcome.experiment, outcome.count()
        numbers = " | ".join(str(counts[verdict]) for verdict in verdicts)
        lines.append(f"| [{experiment.id}]({experiment.id}.md) | {experiment.shows} | {numbers} |")
    sums = [sum(outcome.count()[verdict] for outcome in outcomes) for verdict in verdicts]
    lines.append("| all | | " + " | ".join(map(str, sums)) + " |")
    return "\n".join(lines) + "\n"


def write_index(outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Write that page."""
    path = folder / "results.md"
    _write(path, index(outcomes))
    return path


def _line(judged: Judged) -> str:
    published = "" if judged.published is None else f"{judged.published:.4f}"
    spread = f"{judged.spread:.4f}" if judged.spread else ""
    where = f"{judged.data}, {judged.convention}" if judged.published is not None else judged.data
    return (
        f"| {where} | {judged.name} | {judged.ours:.4f} | {spread} | {published} "
        f"| {judged.verdict} |"
    )


def _write(path: Path, text: str) -> None:
    with replaced_when_done(path) as partial:
        partial.write_text(text)
