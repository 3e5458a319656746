"""Going on elsewhere: learn on one collection, continue on another, and hold on more or less."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.simulate import predtron_gaussian
from rankloop.experiments.papers.declaration import (
    Claim,
    Estimate,
    Experiment,
    ExperimentPart,
    FigureCurve,
    PartResult,
)
from rankloop.experiments.papers.solar import PAPER
from rankloop.experiments.progressive import permute
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.registry import make_online_ranker

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting
    from rankloop.rankers.online.base import OnlineRanker

RANKERS = {
    "SOLAR-I": "solar-i:C=0.01",
    "SOLAR-II": "solar-ii:gamma=10,clip=0",
    "SLAM": "slam:average=False,clip=0",
}
KEEPS = (0.001, 0.01, 0.1, 0.3, 1.0)
"""How much of what was learnt is held on to; besides, to start anew."""

_KEPT = "all held on to, ahead of starting anew, {}"
_LOOSE = "the best of the looser, ahead of all held on to, {}"


def _measure_transfer(
    pairs: list[tuple[QueryDataset, QueryDataset]], text: str
) -> tuple[Estimate, dict[float, Estimate]]:
    """Return the online nDCG@10 on the second collection: started anew, and by share kept."""
    anew: list[float] = []
    by_share: dict[float, list[float]] = {keep: [] for keep in KEEPS}
    for old, new in pairs:
        learnt = make_online_ranker(text).fit(old)
        anew.append(_online(make_online_ranker(text), new))
        for keep in KEEPS:
            by_share[keep].append(_online(copy.deepcopy(learnt).discount_past(keep), new))
    return Estimate.over(anew), {keep: Estimate.over(values) for keep, values in by_share.items()}


def _online(ranker: OnlineRanker, new: QueryDataset) -> float:
    scores = ranker.predict_then_learn(new)
    return float(evaluate(new, scores, "nDCG@10")["nDCG@10"])


def _collect(pairs: list[tuple[QueryDataset, QueryDataset]]) -> PartResult:
    values, curves, notes = {}, [], []
    for name, text in RANKERS.items():
        anew, by_share = _measure_transfer(pairs, text)
        looser = max((by_share[keep] for keep in KEEPS[:-1]), key=lambda estimate: estimate.value)
        values[_KEPT.format(name)] = by_share[1.0].minus(anew)
        values[_LOOSE.format(name)] = looser.minus(by_share[1.0])
        curves.append(FigureCurve(name, list(KEEPS), [by_share[keep].value for keep in KEEPS]))
        curves.append(FigureCurve(f"{name}, anew", [KEEPS[0], KEEPS[-1]], [anew.value] * 2))
        line = ", ".join(f"{keep:g}: {estimate.value:.4f}" for keep, estimate in by_share.items())
        notes.append(f"{name}, anew {anew.value:.4f}, held on to by {line}")
    axes = ("held on to", "online nDCG@10 on the second collection")
    return PartResult(values, {"nDCG@10": curves}, axes, tuple(notes))


def _simulate(source: Source, setting: Setting, *, degrees: float) -> PartResult:  # noqa: ARG001
    """Turn the target by an angle between the two collections."""
    pairs = []
    for draw in range(setting.trials(10)):
        rng = np.random.default_rng([setting.seed, draw])
        first = predtron_gaussian(setting.pick(200, 30), rng, n_features=40, noise=1.0)
        assert first.weights is not None
        w = first.weights / np.linalg.norm(first.weights)
        other = rng.standard_normal(len(w))
        other -= (other @ w) * w
        angle = np.deg2rad(degrees)
        turned = np.cos(angle) * w + np.sin(angle) * other / np.linalg.norm(other)
        second = predtron_gaussian(
            setting.pick(60, 20), rng, n_features=40, noise=1.0, weights=turned
        )
        pairs.append((first.data, second.data.shuffle(rng)))
    return _collect(pairs)


def _collections(source: Source, setting: Setting, *, then: str) -> PartResult:
    """Go from one data set of LETOR to its neighbour, in several orders."""
    old, new = source.data, source.beside(then).data
    orders = range(setting.trials(10))
    return _collect([(old, permute(new, setting.seed, k)) for k in orders])


def _claims(pattern: str) -> dict[str, Claim]:
    return {pattern.format(name): Claim(above=0, slack=0.002) for name in RANKERS}


TRANSFER = Experiment(
    "solar-transfer",
    PAPER,
    "Section 5, a model learnt elsewhere",
    "Keeping what was learnt helps if the target stays, and harms if it turns away.",
    (
        ExperimentPart("same target", partial(_simulate, degrees=0), _claims(_KEPT), seconds=20),
        ExperimentPart(
            "turned by 30 degrees", partial(_simulate, degrees=30), _claims(_KEPT), seconds=20
        ),
        ExperimentPart(
            "turned by 90 degrees", partial(_simulate, degrees=90), _claims(_LOOSE), seconds=20
        ),
        ExperimentPart(
            "MQ2007, then MQ2008",
            partial(_collections, then="MQ2008"),
            _claims(_KEPT),
            "MQ2007",
            seconds=60,
        ),
    ),
)

EXPERIMENTS = (TRANSFER,)
