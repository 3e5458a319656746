"""Learning from clicks as they come: `python -m benchmarks.clicks_online DATA [--runs 25]`.

PDGD beside Thompson sampling with second-order XE_NDCG, under the four simulated users, who may
stop after any document. *Final* is nDCG@10 on held-out queries after the last impression, *online*
the discounted sum of nDCG@10 of what was shown on the way. Both rankers see the same queries in
each run, so their difference is taken run by run.

Each run is kept in `out/clicks_online/` when it is done. If the command is interrupted, or started
again with more runs, it continues where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.users import USERS, make_user
from rankloop.data.folds import letor_folds
from rankloop.data.io.replacing import replace_when_done
from rankloop.data.scaling import QueryMinMax
from rankloop.data.simulate import mslr_like
from rankloop.experiments.click_streams import click_run, discount
from rankloop.rankers.registry import make_online_ranker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

    Parts = list[tuple[QueryDataset, QueryDataset]]

RANKERS = ("pdgd", "thompson", "auto", "thompson:ranker=auto")
SETS = ("MQ2007-partial", "MQ2008", "OHSUMED", "MSLR-like")
KEPT = Path("out/clicks_online")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clicks_online", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds MQ2008 and OHSUMED")
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--impressions", type=int, default=10_000)
    parser.add_argument("--set", action="append", choices=SETS, help="only this one; repeat")
    parser.add_argument("--user", action="append", choices=USERS, help="only this one; repeat")
    parser.add_argument("--ranker", "-r", action="append", help="instead of the two; repeat")
    chosen = parser.parse_args()
    rankers, sets = chosen.ranker or RANKERS, chosen.set or SETS
    parts = {name: parts_of(name, chosen.data) for name in sets}
    cells = [
        (name, user, ranker) for name in sets for user in chosen.user or USERS for ranker in rankers
    ]
    for run in range(chosen.runs):  # runs outermost: an interrupted table has all rows
        for name, user, ranker in cells:
            play_once(name, user, ranker, run, parts[name], chosen.impressions)
    print("| data | user | ranker | final nDCG@10 | difference | online | difference |")
    print("|---|---|---|---:|---:|---:|---:|")
    for name, user, ranker in cells:
        values = kept(name, user, ranker, chosen.impressions)[: chosen.runs]
        first = kept(name, user, rankers[0], chosen.impressions)[: chosen.runs]
        print(f"| {name} | {user} | {ranker} | {row(values, values - first)} |")


def play_once(name: str, user: str, ranker: str, run: int, parts: Parts, impressions: int) -> None:
    """Do one run, unless it was done before."""
    done = kept(name, user, ranker, impressions).tolist()
    if run < len(done):
        return
    top = int(max(part.y.max() for part, _ in parts)) + 1
    simulated = make_user(user, top, stops_after="document")
    held_out, shown = click_run(
        parts, make_online_ranker(ranker), simulated, run, impressions=impressions, points=2
    )
    done.append([float(held_out[-1]), float(discount(shown))])
    KEPT.mkdir(parents=True, exist_ok=True)
    with replace_when_done(place(name, user, ranker, impressions)) as path:
        path.write_text(json.dumps(done))


def kept(name: str, user: str, ranker: str, impressions: int) -> NDArray[np.float64]:
    """Return (runs, 2) final and online values of the runs that are done."""
    path = place(name, user, ranker, impressions)
    done = json.loads(path.read_text()) if path.exists() else []
    return np.array(done, float).reshape(-1, 2)


def place(name: str, user: str, ranker: str, impressions: int) -> Path:
    """Return the file of a cell; other settings of a ranker, given or default, have another."""
    made = make_online_ranker(ranker)
    settings = hashlib.sha256(repr(sorted(made.get_params().items())).encode()).hexdigest()[:8]
    kind = type(made).__name__
    return KEPT / f"{name}-{user}-{kind}-{settings}-{impressions}.json"


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


def row(values: NDArray[np.float64], differences: NDArray[np.float64]) -> str:
    """Return means with their standard errors: final, its difference, online, its difference."""
    cells = []
    for column, form in ((0, ".4f"), (1, ".1f")):
        for sign, numbers in (("", values[:, column]), ("+", differences[:, column])):
            error = numbers.std(ddof=1) / len(numbers) ** 0.5 if len(numbers) > 1 else 0.0
            cells.append(f"{numbers.mean():{sign}{form}} ± {error:{form}}")
    return " | ".join(cells)


if __name__ == "__main__":
    main()
