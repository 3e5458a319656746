"""Clicks when people want the opposite: `python -m benchmarks.clicks_change DATA [--runs N]`.

Users click on a fold of MQ2007-partial; after some impressions the grades are turned around. The
table has the mean nDCG@10 of what was shown before, in the 500 impressions after and from then on,
and that of held-out queries (turned around, too) at the end. Run r takes fold r.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rankloop as rl
from benchmarks.changes import METRIC
from benchmarks.clicks_online import parts_of
from rankloop.cli.tables import print_table
from rankloop.clicks.users import USERS, make_user
from rankloop.experiments.click_streams import for_clicks
from rankloop.rankers.registry import make_online_ranker

if TYPE_CHECKING:
    from rankloop.clicks.users import SimulatedUser
    from rankloop.data.dataset import QueryDataset

RANKERS = ("pdgd", "pdgd:keep=0.9995", "thompson", "thompson:keep=0.9995")
RANKERS += ("thompson:ranker=adaptive", "thompson:ranker=auto", "auto")
SOON = 500


def turned(data: QueryDataset) -> QueryDataset:
    """Return the queries with what was best as worst."""
    return replace(data, y=data.y.max() - data.y)


def play(
    name: str,
    parts: tuple[QueryDataset, QueryDataset],
    user: SimulatedUser,
    run: int,
    before: int,
    after: int,
) -> list[float]:
    """Return what one ranker showed in one run, and what it knows at the end."""
    train, test = parts
    ranker, rng, values = for_clicks(make_online_ranker(name)), np.random.default_rng([0, run]), []
    for data, impressions in (
        (train, before),
        (turned(train), SOON),
        (turned(train), after - SOON),
    ):
        session = ranker.play(data, user, rng, impressions, 10)
        values.append(float(session.quality(data, METRIC).mean()))
    held_out = turned(test).shuffle(np.random.default_rng(run))
    values.append(rl.evaluate(held_out, ranker.predict(held_out), METRIC)[METRIC])
    return values


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--set", default="MQ2007-partial")
    parser.add_argument("--user", default="navigational", choices=USERS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--before", type=int, default=5000)
    parser.add_argument("--after", type=int, default=2000)
    parser.add_argument("--ranker", "-r", action="append", help="instead of the usual ones; repeat")
    chosen = parser.parse_args()
    parts = parts_of(chosen.set, chosen.data)
    user = make_user(chosen.user, 3, stops_after="document")
    rows = []
    for name in chosen.ranker or RANKERS:
        found = [
            play(name, parts[run % len(parts)], user, run, chosen.before, chosen.after)
            for run in range(chosen.runs)
        ]
        rows.append([name, *np.mean(found, axis=0)])
    print_table(["ranker", "before", f"{SOON} after", "from then on", "held out, at the end"], rows)


if __name__ == "__main__":
    main()
