"""Jain, Natarajan and Tewari, Predtron: a family of online algorithms for general prediction."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.simulate import predtron_gaussian, predtron_sparse
from rankloop.experiments.papers.declaration import (
    Claim,
    Curve,
    Experiment,
    Found,
    Measured,
    Part,
)
from rankloop.learners.registry import make_learner
from rankloop.metrics.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rankloop.data.simulate import Simulated
    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting

PAPER = "Jain, Natarajan and Tewari: Predtron"
_NEW = 100  # queries to measure on
_FUNCTIONS = {f"f = {f}": f"predtron:f={f}" for f in ("1/i", "-i^1.1", "-i^2")}
_GEOMETRIES = {"L2 margin": "predtron", "L1 margin": "predtron:geometry=rnorm"}
_NOTE = (
    "The paper leaves open centres, variance, w and the numbers of documents and features; here "
    "documents have unit variance. Loss is 1 - nDCG on new queries; one pass, rate 1."
)


def _documents(m: int, n: int, rng: np.random.Generator, **options: Any) -> Simulated:
    return predtron_gaussian(n, rng, n_documents=m, n_features=100, noise=1.0, **options)


def _features(p: int, n: int, rng: np.random.Generator, **options: Any) -> Simulated:
    return predtron_sparse(n, rng, n_features=p, **options)


def _loss(text: str, simulate: Callable[..., Simulated], n: int, draws: int) -> list[float]:
    """Learn from n queries; return the mean loss on new ones, a number a draw."""
    found = []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        train = simulate(n, rng)
        test = simulate(_NEW, rng, weights=train.weights).data.shuffled(rng)
        ranker = make_learner(text).fit(train.data)
        found.append(1 - evaluate(test, ranker.predict(test), "nDCG")["nDCG"])
    return found


def _figure(
    source: Source,  # noqa: ARG001
    setting: Setting,
    *,
    learners: Mapping[str, str],
    values: Sequence[int],
    vary: Callable[[int], tuple[Callable[..., Simulated], int]],
    axis: str,
    claims: Callable[[Mapping[str, list[float]]], Mapping[str, float]],
) -> Found:
    """Draw the loss by what is varied; `vary` gives a simulator and the number of queries."""
    shown = [values[0], values[-1]] if setting.quick else values
    curves = {}
    for name, text in learners.items():
        runs = [_loss(text, *vary(value), setting.pick(10, 2)) for value in shown]
        curves[name] = [float(np.mean(run)) for run in runs]
    return Found(
        {name: Measured(value) for name, value in claims(curves).items()},
        {"1 - nDCG": [Curve(name, [float(v) for v in shown], y) for name, y in curves.items()]},
        (axis, "loss on new queries"),
        (_NOTE,),
    )


def _steep_ahead(curves: Mapping[str, list[float]]) -> dict[str, float]:
    return {
        "-i^1.1 ahead of 1/i": curves["f = 1/i"][-1] - curves["f = -i^1.1"][-1],
        "-i^2 ahead of 1/i": curves["f = 1/i"][-1] - curves["f = -i^2"][-1],
    }


def _figure_a(curves: Mapping[str, list[float]]) -> dict[str, float]:
    falls = min(curve[0] - curve[-1] for curve in curves.values())
    return {**_steep_ahead(curves), "every loss falls with n": falls}


def _figure_b(curves: Mapping[str, list[float]]) -> dict[str, float]:
    grows = min(curve[-1] - curve[0] for curve in curves.values())
    return {**_steep_ahead(curves), "every loss grows with m": grows}


def _figure_c(curves: Mapping[str, list[float]]) -> dict[str, float]:
    l1, l2 = curves["L1 margin"], curves["L2 margin"]
    return {
        "L2 worsens by .1 or more": l2[-1] - l2[0] - 0.1,
        "L1 worsens by less than .05": 0.05 - (l1[-1] - l1[0]),
    }


_AHEAD = ("-i^1.1 ahead of 1/i", "-i^2 ahead of 1/i")


def _experiment(
    letter: str,
    shows: str,
    axis: str,
    learners: Mapping[str, str],
    values: Sequence[int],
    vary: Callable[[int], tuple[Callable[..., Simulated], int]],
    claims: Callable[[Mapping[str, list[float]]], Mapping[str, float]],
    expected: Sequence[str],
    reason: str = "",
) -> Experiment:
    run = partial(_figure, learners=learners, values=values, vary=vary, axis=axis, claims=claims)
    part = Part("simulated", run, {name: Claim(0.005) for name in expected}, seconds=20)
    return Experiment(f"predtron-fig1{letter}", PAPER, f"Figure 1 {letter}", shows, (part,), reason)


EXPERIMENTS = (
    _experiment(
        "a",
        "The loss falls with training queries; steep f are ahead of 1/i.",
        "training queries n",
        _FUNCTIONS,
        (10, 20, 40, 60, 80, 100),
        lambda n: (partial(_documents, 20), n),
        _figure_a,
        (*_AHEAD, "every loss falls with n"),
    ),
    _experiment(
        "b",
        "The loss grows with the length of lists; steep f are ahead of 1/i.",
        "documents m",
        _FUNCTIONS,
        (5, 10, 20, 30, 40),
        lambda m: (partial(_documents, m), 30),
        _figure_b,
        (*_AHEAD, "every loss grows with m"),
        "The order of the functions is as published, but our loss falls: longer lists have more to "
        "learn from. The paper gives neither the centres nor the variance of its documents, and no "
        "choice that we tried made it grow.",
    ),
    _experiment(
        "c",
        "With 5 relevant features, the L1 geometry does not mind more of them; L2 does.",
        "features p",
        _GEOMETRIES,
        (20, 50, 100, 200, 500, 1000),
        lambda p: (partial(_features, p), 50),
        _figure_c,
        ("L2 worsens by .1 or more", "L1 worsens by less than .05"),
    ),
)
