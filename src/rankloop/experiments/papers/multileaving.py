"""Multileaving: which of several rankers is better, found from clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.interleaving.optimised import Optimised
from rankloop.clicks.interleaving.pairwise import PairwisePreference
from rankloop.clicks.interleaving.probabilistic import Probabilistic
from rankloop.clicks.interleaving.simulation import binary_error, play, rankings_of
from rankloop.clicks.interleaving.sosm import SampleOnlyScored
from rankloop.clicks.interleaving.team_draft import TeamDraft
from rankloop.clicks.users import make_user
from rankloop.data.joining import concat
from rankloop.experiments.papers.declaration import (
    Claim,
    Estimate,
    Experiment,
    ExperimentPart,
    FigureCurve,
    PartResult,
    PublishedScore,
)
from rankloop.measures.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.clicks.interleaving.base import Interleaver
    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting

PAPER = (
    "Oosterhuis and de Rijke, Sensitive and scalable online evaluation with theoretical guarantees"
    " (2017)"
)
METHODS: Mapping[str, Interleaver] = {
    "team draft": TeamDraft(),
    "optimised": Optimised(),
    "probabilistic": Probabilistic(),
    "SOSM": SampleOnlyScored(),
    "PPM": PairwisePreference(),
}
TABLE_OF = {
    "MQ2008": (0.18, 0.28, 0.18, 0.23, 0.17),
    "OHSUMED": (0.13, 0.37, 0.12, 0.27, 0.12),
}
"""Binary error of five rankers after 10,000 impressions of the informational user."""

_FEATURES = {  # of LETOR, from 1: TF-IDF, BM25 and language models
    "MQ2008": (*range(11, 16), *range(21, 26), *range(26, 41)),
    "OHSUMED": (*range(9, 13), 28, *range(15, 28)),
}
_RUNS = {"MQ2008": 50, "OHSUMED": 15}  # the longer lists of OHSUMED take longer
_RANKERS, _POINTS = 5, 20
_BETTER = "the best of the others less PPM"


def run(source: Source, setting: Setting) -> PartResult:
    """Rank by single features, and let users of the training queries find the better ones.

    A run draws a fold and five features; equal values are ordered at random. Users click on the
    queries of its training and validation parts, and the test part says which ranker is better.
    """
    impressions, runs = setting.pick(10_000, 200), setting.trials(_RUNS[source.name])
    user = make_user("informational", grades=3, stops_after="document")
    at = np.unique(np.geomspace(10, impressions, _POINTS).astype(int))
    errors = {name: np.empty((runs, len(at))) for name in METHODS}
    folds = [fold.read() for fold in source.folds]
    for number in range(runs):
        train, valid, test = folds[number % len(folds)]
        rng = np.random.default_rng([setting.seed, number])
        chosen = rng.permutation(_FEATURES[source.name])[:_RANKERS] - 1
        shown = concat([train, valid])
        rankings = rankings_of(shown, [_scores(shown, feature, rng) for feature in chosen])
        quality = [
            evaluate(test, _scores(test, feature, rng), "nDCG@10")["nDCG@10"] for feature in chosen
        ]
        for name, method in METHODS.items():
            total, seen = np.zeros((_RANKERS, _RANKERS)), 0
            played = play(method, rankings, shown, user, rng, impressions)
            for n, (page, clicks) in enumerate(played, start=1):
                total += page.preferences(clicks)
                if n == at[seen]:
                    errors[name][number, seen] = binary_error(total, quality)
                    seen += 1
    last = {name: error[:, -1] for name, error in errors.items()}
    over = {name: Estimate.over(error) for name, error in last.items()}
    rest = min((o for name, o in over.items() if name != "PPM"), key=lambda o: o.value)
    values = {f"{name}, binary error": estimate for name, estimate in over.items()}
    return PartResult(
        {**values, _BETTER: rest.minus(over["PPM"])},
        {
            "binary error": [
                FigureCurve(name, at.astype(float).tolist(), error.mean(axis=0).tolist())
                for name, error in errors.items()
            ]
        },
        ("impressions", "pairs of rankers not told apart"),
        (
            f"mean of {runs} runs; the spread is between runs",
            "Our optimised multileaving finds more than the published one. Where no probabilities "
            "of the candidate lists are without bias, it takes the least biased ones.",
        ),
    )


def _scores(data: QueryDataset, feature: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Score by a feature; equal values are ordered at random."""
    _, level = np.unique(data.X[:, feature], return_inverse=True)
    return np.asarray(level + rng.random(len(level)))


TABLE = Experiment(
    "multileaving-table",
    PAPER,
    "Table 2, five rankers, informational",
    "Pairwise preference multileaving finds the better rankers as well as any other method.",
    tuple(
        ExperimentPart(
            name,
            run,
            {
                **{
                    f"{method}, binary error": PublishedScore(error, 0.03, lower_is_better=True)
                    for method, error in zip(METHODS, errors, strict=True)
                },
                _BETTER: Claim(above=0, slack=0.01),
            },
            name,
            seconds=900,
        )
        for name, errors in TABLE_OF.items()
    ),
)

EXPERIMENTS = (TABLE,)
