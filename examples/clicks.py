"""The pictures of docs/clicks.md: how far people look, and learning from clicks as they come."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import rankloop as rl
from rankloop.clicks.bias.harvesting import AllPairs
from rankloop.clicks.bias.randomised import RandomTraffic
from rankloop.clicks.bias.result import PositionBias, estimate_bias
from rankloop.clicks.log.simulate import simulate_log
from rankloop.clicks.users import make_user, ultra_user
from rankloop.data.simulate import mslr_like
from rankloop.experiments.click_streams import click_streams, held_out_parts
from rankloop.plotting.bias import plot_bias
from rankloop.plotting.figures import save_figure
from rankloop.plotting.streams import plot_click_streams
from rankloop.rankers.registry import make_online_ranker

OUT = Path("out")


def main() -> None:
    """Estimate position bias, learn live, draw both."""
    OUT.mkdir(exist_ok=True)
    data = mslr_like(300, np.random.default_rng(0), n_features=10, mean_length=20.0).data
    draw_bias(data)
    draw_live(rl.data.QueryMinMax().fit(data).transform(data))


def draw_bias(data: rl.QueryDataset) -> None:
    """Draw what a log says of how far people look, beside the truth."""
    user, rng = ultra_user(), np.random.default_rng(1)
    log = simulate_log(data, data.X[:, 0], user, rng, impressions=20, noise=0.3)
    truth = np.array(user.examination) / user.examination[0]
    estimates = {
        "all pairs": estimate_bias(AllPairs(10), log, rng, rounds=50),
        "click rate": estimate_bias(RandomTraffic(10), log, rng, rounds=50),
        "truth": PositionBias("truth", truth, truth, truth),
    }
    save_figure(plot_bias(list(estimates.values()), list(estimates)), OUT / "clicks-bias.png")
    off = np.abs(estimates["all pairs"].examination - truth).mean()
    print(f"examination from all pairs is off by {off:.3f} on average: {OUT / 'clicks-bias.png'}")


def draw_live(data: rl.QueryDataset) -> None:
    """Draw what rankers know after so many impressions."""
    names = ("pdgd", "thompson", "dbgd")
    streams = click_streams(
        held_out_parts(data, 3),
        {name: make_online_ranker(name) for name in names},
        {"navigational": make_user("navigational", 5)},
        impressions=1000,
        runs=3,
        points=12,
    )
    save_figure(plot_click_streams(streams), OUT / "clicks-live.png")
    for stream in sorted(streams, key=lambda s: -s.online.mean()):
        print(
            f"{stream.ranker:8} final {stream.final.mean():.3f} online {stream.online.mean():.0f}"
        )
    print(OUT / "clicks-live.png")


if __name__ == "__main__":
    main()
