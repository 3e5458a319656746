"""RankSVM in the space of an RBF kernel, over a data set's own folds.

    python -m benchmarks.nystrom_folds FOLDER

The kernel's width and C are chosen on each fold's validation part by AP; 200 Nystrom features.
"""

from __future__ import annotations

import sys

import numpy as np

import rankloop as rl

MEASURES = ["AP", "nDCG@1", "nDCG@5", "nDCG@10"]
WIDTHS, COSTS = (0.25, 0.5, 1, 5, 10), (1e-5, 1e-4, 1e-3, 1e-2)


def main() -> None:
    rows = []
    for i, fold in enumerate(rl.data.letor_folds(sys.argv[1])):
        train, valid, test = fold.read()
        valid, test = (part.shuffle(np.random.default_rng([0, i])) for part in (valid, test))
        best = max(
            (
                rl.rankers.Lifted(rl.RankSVM(C=C, tolerance=1e-5), f"nystrom(rbf({s}),200)").fit(
                    train
                )
                for s in WIDTHS
                for C in COSTS
            ),
            key=lambda ranker: rl.evaluate(valid, ranker.predict(valid), "AP", "letor3")["AP"],
        )
        found = rl.evaluate(test, best.predict(test), MEASURES, "letor3")
        rows.append([found[measure] for measure in MEASURES])
        print(fold.name, best.features, best.ranker.C, np.round(rows[-1], 4), flush=True)
    print("mean", dict(zip(MEASURES, np.round(np.mean(rows, axis=0), 4).tolist(), strict=True)))


if __name__ == "__main__":
    main()
