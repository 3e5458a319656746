"""Running experiments: parts one after the other, each kept when it is done, then judged."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import rankloop
from rankloop.data.io.replacing import replace_when_done
from rankloop.experiments.papers.datasets import Source, find, stand_in
from rankloop.experiments.papers.declaration import (
    Claim,
    Curve,
    Found,
    Measured,
    Published,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rankloop.experiments.papers.declaration import Experiment, Part, Setting


_OTHER = {
    "sample": "numbers were published for the whole data set, of which this is a part",
    "simulated": "numbers were published for the real data",
}


@dataclass(frozen=True)
class Judged:
    """One number, compared with the published one."""

    part: str
    name: str
    verdict: Verdict
    ours: float | None
    spread: float | None  # of a number over trials; of a claim, its standard error
    published: float | None
    expected: str
    tolerance: float
    convention: str
    data: str
    why: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        difference = None
        if self.ours is not None and self.published is not None:
            difference = self.ours - self.published
        return {**asdict(self), "verdict": str(self.verdict), "difference": difference}


@dataclass(frozen=True)
class Outcome:
    """An experiment that was run: its numbers, judged, and what its parts gave."""

    experiment: Experiment
    judged: tuple[Judged, ...]
    found: dict[str, Found]
    sources: dict[str, str]
    setting: Setting

    def count(self) -> dict[Verdict, int]:
        """Count the verdicts."""
        return {v: sum(j.verdict == v for j in self.judged) for v in Verdict}

    @property
    def reason(self) -> str:
        """Why numbers are far; empty where none is."""
        return self.experiment.reason if self.count()[Verdict.FAR] else ""

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        return {
            "id": self.experiment.id,
            "paper": self.experiment.paper,
            "source": self.experiment.source,
            "max_trials": self.setting.max_trials,
            "verdicts": {str(v): n for v, n in self.count().items()},
            "values": [judged.to_dict() for judged in self.judged],
            "reason": self.reason,
            "notes": [note for found in self.found.values() for note in found.notes],
        }


def run(
    experiment: Experiment,
    setting: Setting,
    data: Sequence[str] = (),
    keep: Path | None = None,
    on_part: Callable[[str, float], None] | None = None,
) -> Outcome:
    """Run an experiment.

    Parameters
    ----------
    data : where data sets are: folders, or `NAME=FOLDER`; then RANKLOOP_DATA
    keep : a folder for finished parts, which are not run again
    on_part : called before each part with its name and the share of the work done
    """
    judged: list[Judged] = []
    found, sources = {}, {}
    done, whole = 0.0, experiment.seconds
    for part in experiment.parts:
        if on_part is not None:
            on_part(part.name, done / whole)
        done += part.seconds
        source = _source(part, setting, data)
        if source is None:
            judged.extend(_not_run(part))
            continue
        sources[part.name] = str(source)
        found[part.name] = _load_or_run(experiment, part, source, setting, keep)
        judged.extend(_judge(part, source, found[part.name], setting))
    return Outcome(experiment, tuple(judged), found, sources, setting)


def _source(part: Part, setting: Setting, data: Sequence[str]) -> Source | None:
    if part.data is None:
        return Source(part.name)
    source = find(part.data, data)
    if source is None and part.stand_in:
        source = stand_in(part.data, setting.pick(part.stand_in, 60), setting.seed)
    return source


def _not_run(part: Part) -> Iterator[Judged]:
    for name, expected in part.expected.items():
        why = f"{part.data} was not available"
        yield _judged(part, name, Verdict.NOT_RUN, None, expected, "none", why)


def _judge(part: Part, source: Source, found: Found, setting: Setting) -> Iterator[Judged]:
    for name, expected in part.expected.items():
        ours, why = found.values.get(name), ""
        if ours is None:
            verdict, why = Verdict.NOT_RUN, "left out of a quick run"
        elif setting.quick:
            verdict, why = Verdict.NOT_JUDGED, "a quick run is not judged"
        elif isinstance(expected, Published) and source.kind in _OTHER:
            verdict, why = Verdict.NOT_JUDGED, _OTHER[source.kind]
        else:
            verdict = expected.judge(ours)
        yield _judged(part, name, verdict, ours, expected, str(source), why)


def _judged(
    part: Part,
    name: str,
    verdict: Verdict,
    ours: Measured | None,
    expected: Published | Claim,
    data: str,
    why: str,
) -> Judged:
    value = spread = None
    if ours is not None:
        value = ours.value
        spread = ours.spread if isinstance(expected, Published) else ours.error
    number = expected.value if isinstance(expected, Published) else None
    tolerance = expected.tolerance if isinstance(expected, Published) else expected.slack
    return Judged(
        part.name,
        name,
        verdict,
        value,
        spread,
        number,
        str(expected),
        tolerance,
        part.convention,
        data,
        why,
    )


def _load_or_run(
    experiment: Experiment, part: Part, source: Source, setting: Setting, keep: Path | None
) -> Found:
    if keep is None:
        return part.run(source, setting)
    key = [rankloop.__version__, experiment.id, part.name, str(source), asdict(setting)]
    digest = hashlib.blake2b(json.dumps(key).encode(), digest_size=8).hexdigest()
    path = keep / f"{experiment.id}-{digest}.json"
    if path.is_file():
        return _from_dict(json.loads(path.read_text()))
    found = part.run(source, setting)
    keep.mkdir(parents=True, exist_ok=True)
    with replace_when_done(path) as partial:
        partial.write_text(json.dumps(asdict(found), indent=1))
    return found


def _from_dict(tree: dict[str, Any]) -> Found:
    return Found(
        {
            name: Measured(**{**value, "trials": tuple(value["trials"])})
            for name, value in tree["values"].items()
        },
        {panel: [Curve(**curve) for curve in curves] for panel, curves in tree["curves"].items()},
        tuple(tree["axes"]),
        tuple(tree["notes"]),
    )
