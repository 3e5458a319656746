"""KeepRank on clicks, which its paper leaves to the future."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.impressions import cascade_clicks
from rankloop.experiments.papers.declaration import (
    Claim,
    Estimate,
    Experiment,
    ExperimentPart,
    PartResult,
)
from rankloop.experiments.papers.keeprank import PAPER
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.registry import make_ranker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting

_CLICKS = (0.05, 0.5, 0.95)
"""The probability of a click by grade: those of XE_NDCG's appendix E for grades 0, 2 and 4 of 4."""

_IMPRESSIONS = 4  # of each query
_CHOICES = {
    "KeepRank": [
        f"keeprank:targets=binary,kernel=rbf({sigma2})" for sigma2 in (0.25, 0.35, 0.5, 1, 5, 10)
    ],
    "RankSVM": [f"ranksvm:C={C}" for C in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)],
}


def _on_clicks(source: Source, setting: Setting) -> PartResult:
    """Train on clicks and on judgements; choose on validation data of the same kind."""
    found: dict[str, list[float]] = {}
    for k, fold in enumerate(source.folds[: setting.pick(5, 2)]):
        rng = np.random.default_rng([setting.seed, k])
        train, valid, test = fold.read()
        test = test.shuffle(rng)
        clicks = [
            cascade_clicks(part, rng, probabilities=_CLICKS, impressions=_IMPRESSIONS)
            for part in (train, valid)
        ]
        for kind, (first, second) in {"clicks": clicks, "judgements": [train, valid]}.items():
            for name, texts in _CHOICES.items():
                scores = _fit_best(texts[: setting.pick(len(texts), 1)], first, second, test)
                value = evaluate(test, scores, "AP", "letor3")["AP"]
                found.setdefault(f"{name} on {kind}, AP", []).append(value)
        nothing = evaluate(test, np.zeros(test.n_documents), "AP", "letor3")["AP"]
        found.setdefault("a random order, AP", []).append(nothing)
    values = {name: Estimate.over(means) for name, means in found.items()}
    ours = values["KeepRank on clicks, AP"]
    values["KeepRank on clicks less a random order"] = ours.minus(values["a random order, AP"])
    gap = ours.minus(values["RankSVM on clicks, AP"])
    notes = (
        ", ".join(f"{name} {values[name].value:.4f}" for name in found),
        f"KeepRank less RankSVM, both on clicks: {gap.value:+.4f} ± {gap.error:.4f}",
    )
    return PartResult(values, notes=notes)


def _fit_best(
    texts: Sequence[str], train: QueryDataset, valid: QueryDataset, test: QueryDataset
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return the scores of test documents by the ranker that is best on validation data."""
    models = [make_ranker(text).fit(train) for text in texts]
    best = max(models, key=lambda model: evaluate(valid, model.predict(valid), "AP")["AP"])
    return np.asarray(best.predict(test))


CLICKS = Experiment(
    "keeprank-clicks",
    PAPER,
    "Future work: clicks",
    "Trained on simulated clicks of a cascade, KeepRank is ahead of a random order.",
    tuple(
        ExperimentPart(
            name,
            _on_clicks,
            {"KeepRank on clicks less a random order": Claim(above=0)},
            name,
            "letor3",
            seconds=60,
        )
        for name in ("OHSUMED", "MQ2008")
    ),
)

EXPERIMENTS = (CLICKS,)
