"""Run the parts of an experiment, store each when it is done, and compare with the paper."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import rankloop
from rankloop.data.io.replacing import replace_when_done
from rankloop.experiments.papers.collections import COLLECTIONS
from rankloop.experiments.papers.datasets import Source, find, stand_in
from rankloop.experiments.papers.declaration import (
    Claim,
    Estimate,
    FigureCurve,
    PartResult,
    PublishedScore,
    ReproductionVerdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rankloop.experiments.papers.declaration import Experiment, ExperimentPart, Setting


_OTHER = {
    "sample": "numbers were published for the whole collection, and this is a part of it",
    "simulated": "numbers were published for the real data",
}


@dataclass(frozen=True)
class ScoreComparison:
    """One number, compared with the published one."""

    part: str
    name: str
    verdict: ReproductionVerdict
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
class Reproduction:
    """An experiment that was run: the results of its parts, and how they compare with the paper."""

    experiment: Experiment
    comparisons: tuple[ScoreComparison, ...]
    results: dict[str, PartResult]
    sources: dict[str, str]
    setting: Setting

    def count(self) -> dict[ReproductionVerdict, int]:
        """Count the verdicts."""
        return {v: sum(c.verdict == v for c in self.comparisons) for v in ReproductionVerdict}

    @property
    def reason(self) -> str:
        """Why numbers are far; empty where none is."""
        return self.experiment.reason if self.count()[ReproductionVerdict.FAR] else ""

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        return {
            "id": self.experiment.id,
            "paper": self.experiment.paper,
            "source": self.experiment.source,
            "max_trials": self.setting.max_trials,
            "verdicts": {str(v): n for v, n in self.count().items()},
            "values": [comparison.to_dict() for comparison in self.comparisons],
            "reason": self.reason,
            "notes": [note for result in self.results.values() for note in result.notes],
        }


def run(
    experiment: Experiment,
    setting: Setting,
    data: Sequence[str] = (),
    keep: Path | None = None,
    on_part: Callable[[str, float], None] | None = None,
) -> Reproduction:
    """Run an experiment.

    Parameters
    ----------
    data : where data sets are: folders, or `NAME=FOLDER`; then RANKLOOP_DATA
    keep : a folder for finished parts, which are not run again
    on_part : called before each part with its name and the share of the work done
    """
    comparisons: list[ScoreComparison] = []
    results, sources = {}, {}
    done, whole = 0.0, experiment.seconds
    for part in experiment.parts:
        if on_part is not None:
            on_part(part.name, done / whole)
        done += part.seconds
        source = _source(part, setting, data)
        if source is None:
            comparisons.extend(_not_run(experiment, part))
            continue
        sources[part.name] = str(source)
        results[part.name] = _load_or_run(experiment, part, source, setting, keep)
        comparisons.extend(_judge(part, source, results[part.name], setting))
    return Reproduction(experiment, tuple(comparisons), results, sources, setting)


def _source(part: ExperimentPart, setting: Setting, data: Sequence[str]) -> Source | None:
    if part.data is None:
        return Source(part.name)
    source = find(part.data, data)
    if source is None and part.stand_in:
        source = stand_in(part.data, setting.pick(part.stand_in, 60), setting.seed)
    return source


def _not_run(experiment: Experiment, part: ExperimentPart) -> Iterator[ScoreComparison]:
    assert part.data is not None
    advice = COLLECTIONS[part.data].get
    why = f"{advice}, then `rankloop reproduce {experiment.id} --data DIR`"
    for name, expected in part.expected.items():
        yield _compare(part, name, ReproductionVerdict.NOT_RUN, None, expected, "none", why)


def _judge(
    part: ExperimentPart, source: Source, result: PartResult, setting: Setting
) -> Iterator[ScoreComparison]:
    for name, expected in part.expected.items():
        ours, why = result.values.get(name), ""
        if ours is None:
            verdict, why = ReproductionVerdict.NOT_RUN, "left out of a quick run"
        elif setting.quick:
            verdict, why = ReproductionVerdict.NOT_JUDGED, "a quick run is not judged"
        elif isinstance(expected, PublishedScore) and source.kind in _OTHER:
            verdict, why = ReproductionVerdict.NOT_JUDGED, _OTHER[source.kind]
        else:
            verdict = expected.judge(ours)
        yield _compare(part, name, verdict, ours, expected, str(source), why)


def _compare(
    part: ExperimentPart,
    name: str,
    verdict: ReproductionVerdict,
    ours: Estimate | None,
    expected: PublishedScore | Claim,
    data: str,
    why: str,
) -> ScoreComparison:
    value = spread = None
    if ours is not None:
        value = ours.value
        spread = ours.spread if isinstance(expected, PublishedScore) else ours.error
    number = expected.value if isinstance(expected, PublishedScore) else None
    tolerance = expected.tolerance if isinstance(expected, PublishedScore) else expected.slack
    return ScoreComparison(
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
    experiment: Experiment,
    part: ExperimentPart,
    source: Source,
    setting: Setting,
    keep: Path | None,
) -> PartResult:
    if keep is None:
        return part.run(source, setting)
    key = [rankloop.__version__, experiment.id, part.name, str(source), asdict(setting)]
    digest = hashlib.blake2b(json.dumps(key).encode(), digest_size=8).hexdigest()
    path = keep / f"{experiment.id}-{digest}.json"
    if path.is_file():
        return _from_dict(json.loads(path.read_text()))
    result = part.run(source, setting)
    keep.mkdir(parents=True, exist_ok=True)
    with replace_when_done(path) as partial:
        partial.write_text(json.dumps(asdict(result), indent=1))
    return result


def _from_dict(tree: dict[str, Any]) -> PartResult:
    return PartResult(
        {
            name: Estimate(**{**value, "trials": tuple(value["trials"])})
            for name, value in tree["values"].items()
        },
        {
            panel: [FigureCurve(**curve) for curve in curves]
            for panel, curves in tree["curves"].items()
        },
        tuple(tree["axes"]),
        tuple(tree["notes"]),
    )
