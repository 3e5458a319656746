"""Jain, Natarajan and Tewari, Predtron: a family of online algorithms for general prediction."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.simulate import predtron_gaussian, predtron_sparse
from rankloop.experiments.papers.declaration import (
    Claim,
    Estimate,
    Experiment,
    ExperimentPart,
    FigureCurve,
    PartResult,
)
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.registry import make_ranker

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


def _documents(
    m: int, n: int, rng: np.random.Generator, p: int = 100, noise: float = 1.0, **options: Any
) -> Simulated:
    return predtron_gaussian(n, rng, n_documents=m, n_features=p, noise=noise, **options)


def _features(p: int, n: int, rng: np.random.Generator, **options: Any) -> Simulated:
    return predtron_sparse(n, rng, n_features=p, **options)


def _loss(text: str, simulate: Callable[..., Simulated], n: int, draws: int) -> list[float]:
    """Learn from n queries; return the mean loss on new ones, a number a draw."""
    losses = []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        train = simulate(n, rng)
        test = simulate(_NEW, rng, weights=train.weights).data.shuffle(rng)
        ranker = make_ranker(text).fit(train.data)
        losses.append(1 - evaluate(test, ranker.predict(test), "nDCG")["nDCG"])
    return losses


def _figure(
    source: Source,  # noqa: ARG001
    setting: Setting,
    *,
    rankers: Mapping[str, str],
    values: Sequence[int],
    vary: Callable[[int], tuple[Callable[..., Simulated], int]],
    axis: str,
    claims: Callable[[Mapping[str, list[Estimate]]], Mapping[str, Estimate]],
) -> PartResult:
    """Draw the loss by what is varied; `vary` gives a simulator and the number of queries."""
    shown = [values[0], values[-1]] if setting.quick else values
    curves = {}
    for name, text in rankers.items():
        runs = [_loss(text, *vary(value), setting.trials(10)) for value in shown]
        curves[name] = [Estimate.over(run) for run in runs]
    x = [float(value) for value in shown]
    return PartResult(
        claims(curves),
        {"1 - nDCG": [FigureCurve(name, x, [m.value for m in y]) for name, y in curves.items()]},
        (axis, "loss on new queries"),
        (_NOTE,),
    )


def _steep_ahead(curves: Mapping[str, list[Estimate]]) -> dict[str, Estimate]:
    return {
        "-i^1.1 ahead of 1/i": curves["f = 1/i"][-1].minus(curves["f = -i^1.1"][-1]),
        "-i^2 ahead of 1/i": curves["f = 1/i"][-1].minus(curves["f = -i^2"][-1]),
    }


def _figure_a(curves: Mapping[str, list[Estimate]]) -> dict[str, Estimate]:
    falls = [curve[0].minus(curve[-1]) for curve in curves.values()]
    least = min(falls, key=lambda fall: fall.value)
    at_60 = min(3, len(curves["f = 1/i"]) - 1)  # of 10, 20, 40, 60, ...; the last in a quick run
    return {
        **_steep_ahead(curves),
        "the least that a loss falls with n": least,
        "-i^1.1, loss at n = 60": curves["f = -i^1.1"][at_60],
        "-i^2, loss at n = 60": curves["f = -i^2"][at_60],
        "1/i, loss at n = 100": curves["f = 1/i"][-1],
    }


def _figure_b(curves: Mapping[str, list[Estimate]]) -> dict[str, Estimate]:
    def least(growths: list[Estimate]) -> Estimate:
        return min(growths, key=lambda growth: growth.value)

    reached = {name: sum(m.value < _ALMOST_0 for m in curve) for name, curve in curves.items()}
    return {
        **_steep_ahead(curves),
        "the least that a loss grows with m": least([c[-1].minus(c[0]) for c in curves.values()]),
        "the least that it grows from one m to the next": least(
            [after.minus(m) for curve in curves.values() for m, after in pairwise(curve)]
        ),
        **{
            f"{f}, lengths with a loss of almost 0, more than 1/i": Estimate(
                float(reached[f"f = {f}"] - reached["f = 1/i"])
            )
            for f in ("-i^1.1", "-i^2")
        },
    }


def _figure_c(curves: Mapping[str, list[Estimate]]) -> dict[str, Estimate]:
    l1, l2 = curves["L1 margin"], curves["L2 margin"]
    return {
        "L2 worsens by": l2[-1].minus(l2[0]),
        "L1 worsens by": l1[-1].minus(l1[0]),
    }


_ALMOST_0 = 0.01
"""What the paper calls almost 0, or zero loss. In figure 1 a the steep f reach it with 60 queries,
1/i not with 100. In figure 1 b the loss grows from one m to the next, and the steep f have zero
loss for larger m than 1/i."""

_AHEAD = {
    "-i^1.1 ahead of 1/i": Claim(above=0, slack=0.005),
    "-i^2 ahead of 1/i": Claim(above=0, slack=0.005),
}

FIGURE_1A = Experiment(
    "predtron-fig1a",
    PAPER,
    "Figure 1 a",
    "The loss falls with the number of training queries; steep f are better than 1/i.",
    (
        ExperimentPart(
            "simulated",
            partial(
                _figure,
                rankers=_FUNCTIONS,
                values=(10, 20, 40, 60, 80, 100),
                vary=lambda n: (partial(_documents, 20), n),
                axis="training queries n",
                claims=_figure_a,
            ),
            {
                **_AHEAD,
                "the least that a loss falls with n": Claim(above=0),
                "-i^1.1, loss at n = 60": Claim(below=_ALMOST_0),
                "-i^2, loss at n = 60": Claim(below=_ALMOST_0),
                "1/i, loss at n = 100": Claim(above=_ALMOST_0),
            },
            seconds=20,
        ),
    ),
    "The order of the three f is the published one, but with 100 queries f = 1/i reaches a loss of "
    ".0062, too, where the paper has a large one. It depends on the number of features, which the "
    "paper does not give: with 5,000 features and noise .3, 1/i has a large loss with 100 queries "
    "(.24), but then -i^1.1 has one, too (.20; 3 draws).",
)


def _by_length(name: str, p: int, noise: float) -> ExperimentPart:
    run = partial(
        _figure,
        rankers=_FUNCTIONS,
        values=(5, 10, 20, 30, 40),
        vary=lambda m: (partial(_documents, m, p=p, noise=noise), 30),
        axis="documents m",
        claims=_figure_b,
    )
    expected = {
        **_AHEAD,
        "the least that a loss grows with m": Claim(above=0),
        "the least that it grows from one m to the next": Claim(above=0),
        "-i^1.1, lengths with a loss of almost 0, more than 1/i": Claim(above=0),
        "-i^2, lengths with a loss of almost 0, more than 1/i": Claim(above=0),
    }
    return ExperimentPart(name, run, expected, seconds=p / 10)


FIGURE_1B = Experiment(
    "predtron-fig1b",
    PAPER,
    "Figure 1 b",
    "The loss grows with the length of the lists; steep f are better than 1/i.",
    (
        _by_length("100 features, noise 1, as in figure 1 a", 100, 1.0),
        _by_length("5,000 features, noise .3, found by search", 5000, 0.3),
    ),
    "The result depends on the number of features, with 30 queries to learn from. From lists of "
    "5 to lists of 40 documents, the loss of f = -i^1.1 changes by -.05, -.05 and +.08 with 100, "
    "1,000 and 5,000 features and noise .3, and by -.09, -.11 and -.02 with noise 1 (4 draws). "
    "None of the 48 settings that were tried (features, noise, centres and variance) gave all of "
    "figure 1 b. In 12 more (100, 1,000 and 3,000 features, noise .01 to .3, 3 draws) a loss of "
    "almost 0 never grows with the length of the lists, and one that grows is never almost 0.",
)
FIGURE_1C = Experiment(
    "predtron-fig1c",
    PAPER,
    "Figure 1 c",
    "With 5 relevant features, more irrelevant ones harm the L2 geometry, but not L1.",
    (
        ExperimentPart(
            "simulated",
            partial(
                _figure,
                rankers=_GEOMETRIES,
                values=(20, 50, 100, 200, 500, 1000),
                vary=lambda p: (partial(_features, p), 50),
                axis="features p",
                claims=_figure_c,
            ),
            {"L2 worsens by": Claim(above=0.1), "L1 worsens by": Claim(below=0.05)},
            seconds=20,
        ),
    ),
)

EXPERIMENTS = (FIGURE_1A, FIGURE_1B, FIGURE_1C)
