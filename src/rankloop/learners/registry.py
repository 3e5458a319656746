"""Learners by name: `slam`, `solar-ii:gamma=1000`, as on the command line."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.learners.base import Ranker
    from rankloop.learners.online.base import OnlineRanker

_COMMA = re.compile(r",(?![^()]*\))(?![^\[\]]*\])")  # not inside poly(2,1) or a list

_HOME = {
    "slam": "online.slam.Slam",
    "perceptron": "online.perceptron.Perceptron",
    "minimax": "online.minimax.MinimaxPerceptron",
    "online-listnet": "online.listnet.OnlineListNet",
    "online-xendcg": "online.xendcg.OnlineXENDCG",
    "newton": "online.newton.NewtonXENDCG",
    "prank": "online.prank.PRank",
    "pairwise": "online.pairwise.PairwisePerceptron",
    "committee": "online.committee.CommitteePerceptron",
    "solar-i": "online.solar_i.SolarI",
    "solar-ii": "online.solar_ii.SolarII",
    "predtron": "predtron.ranker.PredtronRanker",
    "mapped": "wrappers.mapped.Mapped",
    "mix": "ensembles.mix.Mix",
    "auto": "ensembles.auto.Auto",
    "scaled": "wrappers.scaled.Scaled",
    "ranksvm": "batch.ranksvm.RankSVM",
    "listnet": "batch.listnet.ListNet",
    "ranknet": "batch.ranknet.RankNet",
    "xendcg": "batch.xendcg.XENDCG",
    "adarank": "batch.adarank.AdaRank",
    "rankboost": "batch.rankboost.RankBoost",
    "frank": "batch.frank.FRank",
    "coordinate-ascent": "batch.coordinate_ascent.CoordinateAscent",
    "single-feature": "batch.baselines.SingleFeature",
    "constant": "batch.baselines.Constant",
    "xendcg-boost": "boosting.xendcg.XENDCGBoost",
    "lambdamart": "boosting.lambdamart.LambdaMART",
    "listnet-boost": "boosting.listnet.ListNetBoost",
    "loss-boost": "boosting.loss.LossBoost",
    "blend": "ensembles.blend.Blend",
    "kernel-slam": "kernel.online.KernelSlam",
    "kernel-minimax": "kernel.online.KernelMinimax",
    "kernel-solar-i": "kernel.online.KernelSolarI",
    "kernel-predtron": "kernel.predtron.KernelPredtron",
    "keeprank": "kernel.keeprank.KeepRank",
    "lifted": "wrappers.lifted.Lifted",
}
NAMES: tuple[str, ...] = tuple(_HOME)
"""Every learner's short name."""

_IN_ROUNDS = (
    "batch.",
    "boosting.",
    "kernel.keeprank.",
    "wrappers.scaled.",
    "wrappers.lifted.",
    "ensembles.blend.",
)

ONLINE_NAMES: tuple[str, ...] = tuple(
    name for name, place in _HOME.items() if not place.startswith(_IN_ROUNDS)
)
"""The short names of those that can stream."""

CLASSES: Mapping[str, str] = MappingProxyType(
    {place.rpartition(".")[2]: place for place in _HOME.values()}
)
"""Where each class lives, by its name: the only classes that a model file may name."""


def learner_class(name: str) -> type[Ranker]:
    """Find a learner's class by its short name (`solar-ii`) or its own (`SolarII`)."""
    place = _HOME.get(name) or CLASSES.get(name)
    if place is None:
        raise DataError(f"unknown learner {name!r}; known: {', '.join(NAMES)}")
    module, _, cls = place.rpartition(".")
    found: type[Ranker] = getattr(import_module(f"rankloop.learners.{module}"), cls)
    return found


def make_learner(text: str) -> Ranker:
    """Make a learner from `name` or `name:parameter=value,...`.

    >>> make_learner("solar-ii:gamma=1000,covariance=diagonal")
    SolarII(gamma=1000, covariance='diagonal')
    >>> make_learner("kernel-slam:kernel=poly(2,1),budget=500")
    KernelSlam(kernel='poly(2,1)', budget=500)
    """
    cls, params = read_learner(text)
    return cls(**params)


def read_learner(text: str) -> tuple[type[Ranker], dict[str, Any]]:
    """Read `name:parameter=value,...`: the class, and the parameters that are given.

    >>> read_learner("solar-i:C=0.1")[1]
    {'C': 0.1}
    """
    name, _, rest = text.partition(":")
    cls = learner_class(name.strip())
    params: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in _COMMA.split(rest))):
        key, equals, value = item.partition("=")
        if not equals:
            raise DataError(f"cannot read {item!r} in {text!r}; write parameters as rate=0.1")
        if key.strip() not in cls.parameters():
            known = ", ".join(cls.parameters())
            raise DataError(f"{name} has no parameter {key.strip()!r}; it has: {known}")
        if key.strip() in params:
            raise DataError(f"{key.strip()} stands twice in {text!r}")
        params[key.strip()] = _value(value.strip())
    return cls, params


def learner_text(name: str, params: Mapping[str, Any]) -> str:
    """Write a learner as :func:`make_learner` reads it.

    >>> learner_text("slam", {"measure": "AP", "rate": 0.1})
    'slam:measure=AP,rate=0.1'
    """
    given = ",".join(f"{key}={value}" for key, value in params.items())
    return f"{name}:{given}" if given else name


def make_online_learner(text: str) -> OnlineRanker:
    """Make a learner that can stream; a name that two kinds share means the online one.

    >>> make_online_learner("xendcg:rate=0.1")
    OnlineXENDCG(rate=0.1)
    """
    from rankloop.learners.online.base import OnlineRanker

    name = text.partition(":")[0].strip()
    learner = make_learner(f"online-{text.strip()}" if f"online-{name}" in _HOME else text)
    if not isinstance(learner, OnlineRanker):
        raise DataError(
            f"{name} learns from whole data sets, with train and compare; these learn online: "
            + ", ".join(ONLINE_NAMES)
        )
    return learner


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)
