"""A first use of an installed package, with no more than it asks for: run by `make wheel`."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np

import rankloop as rl

BIN = Path(sys.executable).parent


def rankloop(*words: str) -> str:
    """Run a command; it must succeed."""
    command = [BIN / "rankloop", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Simulate, convert, train, score and measure, on the command line and in Python."""
    assert "site-packages" in str(rl.__file__), f"this is not the installed package: {rl.__file__}"
    # Found by its path: the package of the service can only be imported with its extra.
    page = files("rankloop") / "serving/dashboard/static/index.html"
    assert page.is_file(), "the dashboard's files are not in the package"
    rankloop("simulate", "mslr-like", "-o", "data.txt", "-q", "30", "-p", "n_features=8")
    rankloop("convert", "data.txt", "data.parquet")
    rankloop("convert", "data.txt", "data.csv")
    rankloop("train", "data.csv", "-o", "model.rlm")
    rankloop("score", "model.rlm", "data.parquet", "-o", "scores.txt")
    data, model = rl.read("data.parquet"), rl.load("model.rlm")
    scores = np.loadtxt("scores.txt")
    assert np.array_equal(data.in_row_order(model.predict(data)).astype(np.float64), scores)
    assert rl.evaluate(data, model.predict(data))["nDCG@10"] > 0.5
    print(rankloop("--version").strip(), "works")


if __name__ == "__main__":
    main()
