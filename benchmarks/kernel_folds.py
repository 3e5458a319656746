"""KeepRank over the five folds of a LETOR collection: `python -m benchmarks.kernel_folds FOLDER`.

As the paper: sigma^2 and the number of passes are chosen on each fold's validation part by AP, the
test parts are measured once, under LETOR's convention, documents shuffled.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rankloop as rl

if TYPE_CHECKING:
    from rankloop.data.folds import Fold

SIGMA2 = (0.25, 0.35, 0.5, 1, 5, 10)
MEASURES = ["AP", *(f"P@{k}" for k in range(1, 11)), *(f"nDCG@{k}" for k in range(1, 11))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel_folds", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--targets", nargs="+", default=["binary", "graded"])
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    means = {}
    for targets in chosen.targets:
        folds = [
            on_fold(fold, targets, chosen.passes) for fold in rl.data.letor_folds(chosen.folder)
        ]
        means[targets] = {m: float(np.mean([values[m] for values in folds])) for m in MEASURES}
        print(targets, *(f"{m} {value:.4f}" for m, value in means[targets].items()), sep="\n  ")
    if chosen.json:
        chosen.json.write_text(json.dumps(means, indent=2) + "\n")


def on_fold(fold: Fold, targets: str, passes: int) -> dict[str, float]:
    """Choose a kernel on the validation part; measure on the test part."""
    train, valid, test = fold.read()
    test = test.shuffle(np.random.default_rng(0))
    best, kept = -1.0, None
    for sigma2 in SIGMA2:
        rounds: list[float] = []
        ranker = rl.KeepRank(f"rbf({sigma2})", targets, passes=passes)
        ranker.fit(train, valid=valid, on_round=lambda r, seen=rounds: seen.append(r.valid))
        if max(rounds) > best:
            best, kept = max(rounds), ranker
    print(f"{fold.name}: {kept.kernel}, {kept.rounds_} passes, AP {best:.4f} on validation")
    found = rl.evaluate(test, kept.predict(test), MEASURES, convention="letor3")
    return {measure: found[measure] for measure in MEASURES}


if __name__ == "__main__":
    main()
