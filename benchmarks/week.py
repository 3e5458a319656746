"""The week of `make run` with several seeds and kinds of people: `python -m benchmarks.week`.

For each user and seed: the mean nDCG@10 of what people saw, after how many searches what they see
has regained 90% of what their change of taste took (the mean of the 50 searches from there on), and
how many changes `auto` noticed; one is right. Ids of rankings are random, so a second run differs a
little.
"""

from __future__ import annotations

import argparse
import runpy
import tempfile
from pathlib import Path

import numpy as np

from rankloop.cli.tables import print_table

WEEK = Path(__file__).parents[1] / "examples" / "week.py"


def main() -> None:
    """Let the weeks pass, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--users", nargs="*", default=["perfect", "navigational", "informational"])
    parser.add_argument("--rankings", type=int, default=360, help="a day")
    parser.add_argument("--learn-from", default="grades", help="the setting of the loop")
    chosen = parser.parse_args()
    week = runpy.run_path(str(WEEK))
    rows = []
    for user in chosen.users:
        found = [one_week(week, chosen, seed, user) for seed in range(chosen.seeds)]
        means, searches, noticed = zip(*found, strict=True)
        took = " ".join("never" if n is None else str(n) for n in searches)
        mean, error = np.mean(means), np.std(means, ddof=1) / len(means) ** 0.5
        rows.append([user, f"{mean:.3f} ± {error:.3f}", took, " ".join(map(str, noticed))])
    print_table(["user", "what people saw", "searches to regain 90%", "changes noticed"], rows)


def one_week(
    week: dict[str, object], chosen: argparse.Namespace, seed: int, user: str
) -> tuple[float, int | None, int]:
    """Return what people saw, the searches until it had recovered, and the changes noticed."""
    clock = week["Clock"]()
    with (
        tempfile.TemporaryDirectory() as folder,
        week["shop_service"](folder, clock, 0, learn_from=chosen.learn_from) as (
            client,
            service,
            _,
        ),
    ):
        _, raw = week["live"](client, service, clock, chosen.rankings, seed, user)
        noticed = service.loops["shop"].published.changes["auto"].count
    took = week["searches_to_recover"](raw, int(week["DRIFT"] * chosen.rankings))
    return float(np.mean(raw)), took, noticed


if __name__ == "__main__":
    main()
