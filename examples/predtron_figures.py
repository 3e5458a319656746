"""Figure 1 of the Predtron paper: what f and the geometry do, in three pictures with their data.

The paper leaves open the centres, the variance, w, m and the number of features; here documents
have unit variance. Loss is 1 - nDCG on 100 new queries, the mean of 10 draws; one pass, rate 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rankloop as rl
from rankloop.data.simulate import predtron_gaussian, predtron_sparse
from rankloop.learners.predtron.ranker import PredtronRanker
from rankloop.plotting.save import save_figure

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.data.simulate import Simulated

DRAWS, NEW = 10, 100
FUNCTIONS = {f"f = {f}": PredtronRanker(f=f) for f in ("1/i", "-i^1.1", "-i^2")}
GEOMETRIES = {
    "L2 margin": PredtronRanker(geometry="euclidean"),
    "L1 margin": PredtronRanker(geometry="rnorm"),
}


def losses(ranker: PredtronRanker, simulate: Callable[..., Simulated], n: int) -> list[float]:
    """Learn from n queries; return the mean loss on new ones, and the share with any."""
    found = []
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        train = simulate(n, rng)
        test = simulate(NEW, rng, weights=train.weights).data.shuffled(rng)
        ranker.fit(train.data)
        lost = 1 - rl.evaluate(test, ranker.predict(test), "nDCG").results[0].values
        found.append([np.nanmean(lost), np.nanmean(lost > 1e-9)])
    return np.mean(found, axis=0).tolist()


def varying_n(ranker: PredtronRanker, n: int) -> list[float]:
    """Learn from n queries of 20 documents."""
    return losses(ranker, lambda k, rng, **o: gaussian(k, rng, 20, **o), n)


def varying_m(ranker: PredtronRanker, m: int) -> list[float]:
    """Learn from 30 queries of m documents."""
    return losses(ranker, lambda k, rng, **o: gaussian(k, rng, m, **o), 30)


def varying_p(ranker: PredtronRanker, p: int) -> list[float]:
    """Learn from 50 queries of 10 documents with p features, of which 5 count."""
    return losses(ranker, lambda k, rng, **o: predtron_sparse(k, rng, n_features=p, **o), 50)


def gaussian(n: int, rng: np.random.Generator, m: int, **options: Any) -> Simulated:
    """Simulate documents of 100 features and unit variance."""
    return predtron_gaussian(n, rng, n_documents=m, n_features=100, noise=1.0, **options)


FIGURES = [
    ("a", "training queries n", [10, 20, 40, 60, 80, 100], FUNCTIONS, varying_n, 0),
    ("b", "documents m, n = 30", [5, 10, 20, 30, 40], FUNCTIONS, varying_m, 0),
    ("b2", "documents m, n = 30", [5, 10, 20, 30, 40], FUNCTIONS, varying_m, 1),
    (
        "c",
        "features p, 5 of them relevant",
        [20, 50, 100, 200, 500, 1000],
        GEOMETRIES,
        varying_p,
        0,
    ),
]
SHOWN = ("1 - nDCG", "share of queries with any loss")


def main() -> None:
    """Learn, measure, print, draw."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 3.8), layout="constrained")
    for axes, (name, what, values, rankers, vary, column) in zip(
        figure.subplots(1, len(FIGURES)), FIGURES, strict=True
    ):
        print(f"Figure 1 {name}: {SHOWN[column]} by {what}")
        print(" " * 12 + "".join(f"{value:>9}" for value in values))
        for label, ranker in rankers.items():
            found = [vary(ranker, value)[column] for value in values]
            print(f"  {label:10}" + "".join(f"{value:9.4f}" for value in found))
            axes.plot(values, found, marker="o", label=label)
        axes.set(xlabel=what, ylabel=SHOWN[column], title=f"({name})", ylim=(0, None))
        axes.legend()
    path = Path("out", "predtron_figures.png")
    path.parent.mkdir(exist_ok=True)
    save_figure(figure, path)
    print(path)


if __name__ == "__main__":
    main()
