"""Compare on folds: which ranker is better on my data, and whether the difference is real.

Parameters are chosen on the validation part of each fold, quality is measured on its test part, and
differences are tested query by query. Writes a page to `out/` in the current folder.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from collection import MQ2008

import rankloop as rl
from rankloop.data.simulate import mslr_like

OUT = Path("out")
RANKERS = ["single-feature", "ranksvm", "newton", "auto"]


def main() -> None:
    """Compare four rankers, the simplest first."""
    OUT.mkdir(exist_ok=True)
    data: str | rl.QueryDataset = str(MQ2008)  # a folder in LETOR's layout brings its folds
    if not MQ2008.is_dir():
        data = mslr_like(200, np.random.default_rng(0), n_features=12, mean_length=15).data
    standings = rl.compare(
        data, RANKERS, ["nDCG@10", "AP"], folds=None if MQ2008.is_dir() else 3, scale="log"
    )
    for row in standings.panel("nDCG@10", "standard"):  # best first
        line = f"{row.ranker:15} {row.mean:.4f}, standard error {row.se:.4f} over queries"
        if row.against is not None:
            low, high = row.against.ci_low, row.against.ci_high
            line += f"; {row.against.difference:+.4f} ({low:+.4f} to {high:+.4f})"
            line += f", p = {row.against.p_adjusted:.4f}"
        print(line)
    print(
        "chosen for ranksvm, fold by fold:", [fold.chosen for fold in standings.results("ranksvm")]
    )
    rl.write_report(standings, OUT / "compare.html")
    print(f"The whole comparison: {OUT / 'compare.html'}")


if __name__ == "__main__":
    main()
