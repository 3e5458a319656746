"""A first look: simulate web search, see what is in it, tell a good ranking from a random one.

Writes to `out/` in the current folder; takes a few seconds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import rankloop as rl
from rankloop.cli.app import app
from rankloop.data.io.scores import write_scores
from rankloop.data.simulate import mslr_like

OUT = Path("out")


def rankloop(command: str) -> None:
    """Run a command as the terminal would, and show it first."""
    print(f"\n$ rankloop {command}")
    app(command.split(), standalone_mode=False)


def main() -> None:
    """Make a data set and two rankings of it; then let the command line look at them."""
    OUT.mkdir(exist_ok=True)
    rng = np.random.default_rng(7)
    simulated = mslr_like(120, rng, n_features=40, mean_length=50, noise=0.5).data
    rl.write_letor(simulated, OUT / "data.txt")
    data = rl.read_letor(OUT / "data.txt")
    assert np.array_equal(data.X, simulated.X), "text keeps every bit"

    # A ranking is one score a document: here the first feature, and a random number.
    write_scores(OUT / "good.txt", data.X[:, 0].astype(float))
    write_scores(OUT / "random.txt", rng.random(data.n_documents))

    rankloop("inspect out/data.txt --plot out/first_look.png")
    for name in ("good", "random"):
        rankloop(f"evaluate out/data.txt --scores out/{name}.txt -m nDCG@10 -c standard -c mslr")
    rankloop("compare-runs out/data.txt --scores out/random.txt --scores out/good.txt")
    print(f"The data set at a glance, as a picture: {OUT / 'first_look.png'}")


if __name__ == "__main__":
    main()
