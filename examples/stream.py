"""Queries stream in, and rankers rank each before learning from it (--queries 400)."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console

import rankloop as rl
from rankloop.cli.progress import leaderboard
from rankloop.cli.tables import print_table
from rankloop.data.simulate import mslr_like
from rankloop.plotting.figures import save_figure
from rankloop.plotting.streams import plot_streams
from rankloop.rankers.registry import online_names

OUT = Path("out")
PERMUTATIONS = 3

# each around another ranker
WRAPPERS = ("mix", "clicks", "thompson", "stacked")


def main() -> None:
    """Stream, rank, learn, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=400)
    queries = parser.parse_args().queries
    OUT.mkdir(exist_ok=True)
    console = Console()
    data = mslr_like(queries, np.random.default_rng(1), n_features=40, mean_length=30).data
    console.print(f"Web search, simulated: {data}")
    data = rl.data.RobustLog().fit(data).transform(data)  # raw counts are not for linear rankers
    names = [name for name in online_names() if name not in WRAPPERS]
    rankers = {name: rl.make_ranker(name) for name in names}
    for name, ranker in rankers.items():
        if name.startswith("kernel-"):
            ranker.set_params(budget=200)  # documents held: less memory, less time
    with leaderboard(names, PERMUTATIONS, "nDCG@10") as show:
        streams = rl.stream(
            data,
            rankers,
            permutations=PERMUTATIONS,
            on_result=lambda name, _, means: show(name, next(iter(means.values()))),
        )
    best_first = sorted(streams, key=lambda stream: -stream.mean)
    print_table(["ranker", "nDCG@10", "±"], [[s.ranker, s.mean, s.std] for s in best_first])
    save_figure(plot_streams(streams), OUT / "stream.png")
    console.print(f"Each query was measured before it was learnt from: {OUT / 'stream.png'}")


if __name__ == "__main__":
    main()
