"""Bruch, An alternative cross entropy loss for learning-to-rank (XE_NDCG)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax

from rankloop.experiments.papers.declaration import (
    Claim,
    Estimate,
    Experiment,
    ExperimentPart,
    FigureCurve,
    PartResult,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting

PAPER = "Bruch: an alternative cross entropy loss for learning-to-rank"
_SHARES = (0.5, 0.25, 0.13, 0.08, 0.04)  # of grades 0 to 4, "smaller for larger labels"


def jensen_gap(phi: NDArray[np.float64], log_rho: NDArray[np.float64]) -> float:
    """Return log E_phi[rho] - E_phi[log rho], which is what the bound loses to Jensen."""
    return float(np.log(phi @ np.exp(log_rho)) - phi @ log_rho)


def _jensen(source: Source, setting: Setting) -> PartResult:  # noqa: ARG001
    rng = np.random.default_rng(setting.seed)
    clouds, spreads = [], []
    for example in range(setting.pick(10, 4)):
        log_rho = log_softmax(rng.random(100))
        grades = rng.choice(5, 100, p=_SHARES)
        gaps = []
        for _ in range(setting.pick(200, 50)):
            gains = np.exp2(grades) - rng.random(100)
            gaps.append(jensen_gap(gains / gains.sum(), log_rho))
        clouds.append(FigureCurve(f"example {example + 1}", [example + 1.0] * len(gaps), gaps))
        spreads.append(float(np.std(gaps) / np.mean(gaps)))
    share = Estimate.over(spreads)
    return PartResult(
        {"the gap's deviation over draws of gamma, as a share of it": share},
        {"Jensen gap": clouds},
        ("example", "gap, a point for each gamma"),
    )


FIGURE_1 = Experiment(
    "xendcg-fig1",
    PAPER,
    "Figure 1",
    "The choice of gamma changes the Jensen gap, and so the tightness of the bound.",
    (
        ExperimentPart(
            "simulated",
            _jensen,
            {"the gap's deviation over draws of gamma, as a share of it": Claim(above=0.01)},
        ),
    ),
)

EXPERIMENTS = (FIGURE_1,)
