"""Chaudhuri and Tewari, Perceptron-like algorithms for online learning to rank (SLAM)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.scaling import RobustLog
from rankloop.data.simulate import separable
from rankloop.experiments.papers.declaration import (
    Claim,
    Estimate,
    Experiment,
    ExperimentPart,
    FigureCurve,
    PartResult,
    PublishedScore,
)
from rankloop.experiments.papers.protocols import online, with_claims
from rankloop.rankers.registry import make_online_ranker
from rankloop.theory.adversary import play
from rankloop.theory.theorem_rates import track_classification, track_slam
from rankloop.theory.tracking import track

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting
    from rankloop.theory.tracking import Tracked

PAPER = "Chaudhuri and Tewari: perceptron-like algorithms for online learning to rank"
_RATES = tuple(10.0**k for k in range(-6, 2))


def _simulate(setting: Setting, *, margin: float) -> QueryDataset:
    rng = np.random.default_rng(setting.seed)
    return separable(setting.pick(5000, 300), rng, margin=margin).data


def _scale(data: QueryDataset) -> QueryDataset:
    return RobustLog().fit(data).transform(data)


def _as_it_is(data: QueryDataset) -> QueryDataset:
    return data


def _rankers(measure: str) -> dict[str, list[str]]:
    """Each ranker at several rates; the best counts, as in the paper."""
    return {
        "SLAM": [f"slam:measure={measure},rate={rate:g},average=False,clip=0" for rate in _RATES],
        "minimax": ["minimax:clip=0"],
        "ListNet": [f"online-listnet:one_grade=True,rate={rate:g},clip=0" for rate in _RATES],
    }


def _figure_1(result: PartResult) -> dict[str, Estimate]:
    last = {name: result.values[f"{name}, nDCG@10"] for name in ("SLAM", "minimax", "ListNet")}
    worse = min(last["SLAM"], last["minimax"], key=lambda estimate: estimate.value)
    apart = last["SLAM"].minus(last["minimax"])
    return {
        "the worse perceptron": worse,
        "how far the perceptrons are apart": replace(apart, value=abs(apart.value)),
        "the worse perceptron ahead of ListNet": worse.minus(last["ListNet"]),
    }


FIGURE_1 = Experiment(
    "slam-fig1",
    PAPER,
    "Figure 1",
    "On separable data the mean nDCG@10 of both perceptrons rises to 1 faster than ListNet's.",
    tuple(
        ExperimentPart(
            f"margin {margin:g}",
            with_claims(
                online(
                    _rankers("nDCG@10"),
                    ["nDCG@10"],
                    "standard",
                    20,
                    make=partial(_simulate, margin=margin),
                ),
                _figure_1,
            ),
            {
                "the worse perceptron": Claim(above=0.99, slack=0.01),
                "how far the perceptrons are apart": Claim(below=0.005, slack=0.005),
                "the worse perceptron ahead of ListNet": Claim(above=0, slack=0.0001),
            },
            seconds=60,
        )
        for margin in (1.0, 0.1, 0.02)  # the paper does not give its own
    ),
    "The paper does not say how large its margin is. With a margin of 1 all three reach 1 at once. "
    "With .1 and .02, which are harder, ListNet with the best of 8 rates is ahead of both "
    "perceptrons: .99987 and .99986, where SLAM has .99979 and .99974 (3 permutations). That it "
    "learns from every query is the smaller part of the reason. If it learns only from its "
    "mistakes, which are 28 and 60 of 5,000 queries, it still has .99984 and .99983. Its guarantee "
    "is of the order of sqrt(T), which is an upper bound, and on these streams it is not reached.",
)


def _ahead(measure: str, result: PartResult) -> dict[str, Estimate]:
    reached = {name: result.values[f"{name}, {measure}"] for name in ("SLAM", "minimax", "ListNet")}
    best = max(reached["SLAM"], reached["ListNet"], key=lambda estimate: estimate.value)
    return {
        "SLAM - ListNet": reached["SLAM"].minus(reached["ListNet"]),
        "minimax behind the better of the two by": best.minus(reached["minimax"]),
    }


def _both_scales(
    run: Callable[[Source, Setting], PartResult],
    scaled: Callable[[Source, Setting], PartResult],
    measure: str,
) -> Callable[[Source, Setting], PartResult]:
    """Run on features as they are; the notes say what log-scaled ones give."""

    def both(source: Source, setting: Setting) -> PartResult:
        result, other = run(source, setting), scaled(source, setting)
        text = ", ".join(f"{name} {value.value:.4f}" for name, value in other.values.items())
        gap = _ahead(measure, other)["SLAM - ListNet"]
        note = f"on log-scaled features: {text}; SLAM - ListNet {gap.value:+.4f} +- {gap.error:.4f}"
        return replace(result, notes=(*result.notes, note))

    return both


def _scale_simulated(
    run: Callable[[Source, Setting], PartResult], scaled: Callable[[Source, Setting], PartResult]
) -> Callable[[Source, Setting], PartResult]:
    """Log-scale simulated features only: Yahoo's have one scale, which those of MSLR lack."""
    return lambda source, setting: (run if source.simulated is None else scaled)(source, setting)


def _benchmarks(
    measure: str, published: dict[str, tuple[float, float]]
) -> tuple[ExperimentPart, ...]:
    parts = []
    for name in ("MSLR-WEB10K", "Yahoo-train", "Yandex"):
        as_it_is, scaled = (
            online(_rankers(measure), [measure], "standard", 20, prepare=how, queries=10_000)
            for how in (_as_it_is, _scale)
        )
        run = _both_scales(as_it_is, scaled, measure)
        if name == "Yahoo-train":
            run = _scale_simulated(as_it_is, scaled)
        values: dict[str, PublishedScore | Claim] = {}
        if name in published:
            slam, listnet = published[name]
            values[f"SLAM, {measure}"] = PublishedScore(slam, 0.02)
            values[f"ListNet, {measure}"] = PublishedScore(listnet, 0.02)
        least = 0.0 if name == "MSLR-WEB10K" else -0.03  # level with ListNet on the others
        values["SLAM - ListNet"] = Claim(above=least, slack=0.01)
        if name != "MSLR-WEB10K":
            values["minimax behind the better of the two by"] = Claim(above=0.01, slack=0.01)
        claims = partial(_ahead, measure)
        parts.append(
            ExperimentPart(
                name, with_claims(run, claims), values, data=name, stand_in=1000, seconds=60
            )
        )
    return tuple(parts)


FIGURE_2 = Experiment(
    "slam-fig2",
    PAPER,
    "Figure 2",
    "Mean AP over industrial streams of SLAM, online ListNet and the minimax perceptron.",
    _benchmarks("AP", {"MSLR-WEB10K": (0.49, 0.37), "Yahoo-train": (0.87, 0.875)}),
)
FIGURE_3 = Experiment(
    "slam-fig3",
    PAPER,
    "Figure 3",
    "Mean nDCG@10 over industrial streams of the same three rankers.",
    _benchmarks("nDCG@10", {"MSLR-WEB10K": (0.25, 0.22), "Yahoo-train": (0.74, 0.75)}),
    "Yahoo: the simulated data that replace it have noisy grades, which harm a hinge more than a "
    "cross entropy. With MSLR's shares of grades and a noise of 0, .5, 1 (as in this experiment) "
    "and 2 in the grades, SLAM was .010, .014, .044 and .089 behind ListNet, each with the best of "
    "8 rates (3 orders). With Yahoo's own shares, as here, the gap is smaller.",
)


def _sides(data: QueryDataset) -> Tracked:
    """Tell documents on the two sides of a plane apart, those near it left out: Theorem 1."""
    w = np.eye(1, data.n_features).ravel()
    side = data.X[:, 0].astype(np.float64)
    apart = np.abs(side) > 0.1 * np.abs(side).max()
    documents = QueryDataset.from_arrays(data.X[apart], side[apart] > 0, group=[apart.sum()])
    return track_classification(documents, w / np.abs(side[apart]).min())


_THEOREMS: dict[str, Callable[[QueryDataset], Tracked]] = {
    "Theorem 1, the perceptron's mistakes": _sides,
    "Theorem 6, SLAM for nDCG at its rate": track_slam,
    "Theorem 6, SLAM for AP at its rate": partial(track_slam, measure="AP"),
    "Theorem 8, SLAM for nDCG@10 at its rate": partial(track_slam, measure="nDCG@10"),
    "Theorem 10, minimax": partial(track, make_online_ranker("minimax:clip=0")),
    "ours, SLAM at rate 1": partial(track, make_online_ranker("slam:rate=1,average=False,clip=0")),
}
"""Each ranker beside its theorem; those of SLAM at the rates of their proofs."""


def _bounds(source: Source, setting: Setting) -> PartResult:  # noqa: ARG001
    rng = np.random.default_rng(setting.seed)
    data = separable(setting.pick(1000, 60), rng, n_features=10, margin=0.1).data
    values, panels, notes = {}, {}, []
    for name, tracking in _THEOREMS.items():
        tracked = tracking(data)
        loss, bound = tracked.loss, tracked.bound
        values[f"{name}: loss over bound"] = Estimate(float((loss / bound).max()))
        x = np.arange(1.0, len(loss) + 1).tolist()
        panels[name] = [
            FigureCurve("loss", x, loss.tolist()),
            FigureCurve("bound", x, bound.tolist()),
        ]
        notes.append(f"{name}: loss {loss[-1]:.4g}, bound {bound[-1]:.4g}")
    return PartResult(values, panels, ("rounds", "loss so far"), tuple(notes))


BOUNDS = Experiment(
    "slam-bounds",
    PAPER,
    "Theorems 1, 6, 8 and 10",
    "On separable data, with the rates of the proofs, the sum of losses has a constant bound.",
    (
        ExperimentPart(
            "separable",
            _bounds,
            {f"{name}: loss over bound": Claim(below=1) for name in _THEOREMS},
            seconds=20,
        ),
    ),
)

_CLIPPED = (
    "perceptron",
    "slam",
    "minimax",
    "online-listnet",
    "online-xendcg",
    "newton",
    "solar-ii",
)
_PLAYERS = {**{name: f"{name}:clip=0" for name in _CLIPPED}, "solar-i": "solar-i"}


def _adversary(source: Source, setting: Setting) -> PartResult:  # noqa: ARG001
    gamma, features = (0.2, 100) if setting.quick else (0.1, 400)
    values, curves = {}, []
    for text in _PLAYERS:
        game = play(make_online_ranker(_PLAYERS[text]), gamma, features, 5)
        lost = game.losses >= game.least - 1e-9
        values[f"{text}, share of rounds lost"] = Estimate(float(lost.mean()))
        rounds = np.arange(1.0, len(game.losses) + 1).tolist()
        curves.append(FigureCurve(text, rounds, np.cumsum(game.losses).tolist()))
    curves.append(FigureCurve("at least", rounds, (game.least * np.array(rounds)).tolist()))
    return PartResult(values, {"nDCG": curves}, ("rounds", "sum of 1 - nDCG"))


ADVERSARY = Experiment(
    "slam-adversary",
    PAPER,
    "Theorem 9",
    "Against the adversary every deterministic ranker loses at least the lower bound.",
    (
        ExperimentPart(
            "adversary",
            _adversary,
            {f"{text}, share of rounds lost": Claim(above=0.999) for text in _PLAYERS},
            seconds=20,
        ),
    ),
)

EXPERIMENTS = (FIGURE_1, FIGURE_2, FIGURE_3, BOUNDS, ADVERSARY)
