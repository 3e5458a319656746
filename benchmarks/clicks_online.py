"""Learning from clicks as they come: `python -m benchmarks.clicks_online DATA [--runs 25]`.

PDGD beside Thompson sampling with second-order XE_NDCG, under the four simulated users, who may
stop after any document. *Final* is nDCG@10 on held-out queries after the last impression, *online*
the discounted sum of nDCG@10 of what was shown on the way.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.users import USERS, simulated_user
from rankloop.data.folds import letor_folds
from rankloop.data.scaling import QueryMinMax
from rankloop.data.simulate import mslr_like
from rankloop.experiments.click_streams import click_streams
from rankloop.learners.registry import make_online_learner

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.click_streams import ClickStream

    Parts = list[tuple[QueryDataset, QueryDataset]]

LEARNERS = ("pdgd", "thompson")
SETS = ("MQ2008", "OHSUMED", "MSLR-like")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clicks_online", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds MQ2008 and OHSUMED")
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--impressions", type=int, default=10_000)
    parser.add_argument("--set", action="append", choices=SETS, help="only this one; repeat")
    parser.add_argument("--user", action="append", choices=USERS, help="only this one; repeat")
    parser.add_argument("--learner", "-l", action="append", help="instead of the two; repeat")
    chosen = parser.parse_args()
    learners = {name: make_online_learner(name) for name in chosen.learner or LEARNERS}
    print("| data | user | learner | final nDCG@10 | online |")
    print("|---|---|---|---:|---:|", flush=True)
    for name in chosen.set or SETS:
        parts = parts_of(name, chosen.data)
        top = int(max(part.y.max() for part, _ in parts)) + 1
        for user in chosen.user or USERS:
            simulated = simulated_user(user, top, stops_after="document")
            click_streams(
                parts,
                learners,
                {user: simulated},
                impressions=chosen.impressions,
                runs=chosen.runs,
                points=2,
                on_result=lambda stream, name=name: show(name, stream),
            )


def parts_of(name: str, folder: Path) -> Parts:
    """Return (training, test) parts, features scaled to 0 to 1 query by query."""
    if name != "MSLR-like":
        folds = [fold.read() for fold in letor_folds(folder / name)]
        return [(scaled(train), scaled(test)) for train, _, test in folds]
    parts = []
    for seed in range(5):
        rng = np.random.default_rng([seed, 7])
        data = scaled(mslr_like(600, rng, n_features=60, mean_length=60.0).data)
        parts.append((data.select(slice(0, 400)), data.select(slice(400, 600))))
    return parts


def scaled(data: QueryDataset) -> QueryDataset:
    return QueryMinMax().fit(data).transform(data)


def show(name: str, stream: ClickStream) -> None:
    final, online = (
        f"{values.mean():{form}} ± {values.std(ddof=1) / len(values) ** 0.5:{form}}"
        for values, form in ((stream.final, ".4f"), (stream.online, ".1f"))
    )
    print(f"| {name} | {stream.user} | {stream.learner} | {final} | {online} |", flush=True)


if __name__ == "__main__":
    main()
