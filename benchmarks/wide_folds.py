"""What a low-rank or diagonal covariance costs in quality: the table of docs/learn.md.

    python -m benchmarks.wide_folds DATA

DATA holds MQ2008, OHSUMED and MSLR-sample. One pass over the training part with default parameters,
features scaled inside queries; the mean of nDCG@10 on the test parts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import rankloop as rl
from rankloop.rankers.registry import make_ranker

SETS = ("MQ2008", "OHSUMED", "MSLR-sample")
KINDS = ("full", "low-rank,directions=20", "low-rank,directions=5", "diagonal")


def quality(name: str, folds: list[Path]) -> float:
    """Learn from each fold once; return the mean of nDCG@10 on its test part."""
    values = []
    for fold in folds:
        ranker = rl.Prepared(make_ranker(name), maps=["minmax"]).fit(
            rl.read_letor(fold / "train.txt")
        )
        test = rl.read_letor(fold / "test.txt")
        values.append(rl.evaluate(test, ranker.predict(test), "nDCG@10")["nDCG@10"])
    return float(np.mean(values))


def main() -> None:
    """Print a line a ranker and data set."""
    print("| | " + " | ".join(KINDS) + " |")
    print("|---|" + "---:|" * len(KINDS))
    for ranker in ("newton", "solar-ii"):
        for name in SETS:
            folder = Path(sys.argv[1], name)
            folds = sorted(folder.glob("Fold*")) or [folder]
            found = [quality(f"{ranker}:covariance={kind}", folds) for kind in KINDS]
            cells = " | ".join(f"{value:.4f}".removeprefix("0") for value in found)
            print(f"| `{ranker}`, {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
