"""A shop's story: messy data in, a ranker out, compared, saved, scored, updated and explained.

The table is what a shop has: rows in no order, ids that are text, missing prices, brands, booleans
and dates. First on the command line, then in Python. Writes to `out/` in the current folder.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd

import rankloop as rl
from rankloop.cli.app import app

OUT = Path("out")
BRANDS = ["acme", "best", "corner", "dove", "early", "fine"]
COLOURS = [f"colour {k}" for k in range(40)]


def shop(first_query: int, queries: int, rng: np.random.Generator) -> pd.DataFrame:
    """Simulate judged results of a shop's search; brand, price and newness matter."""
    n = queries * 12
    frame = pd.DataFrame(
        {
            "query_id": np.repeat([f"q{first_query + k}" for k in range(queries)], 12),
            "product_id": [f"sku-{k}" for k in rng.integers(0, 10**9, n)],
            "match": rng.normal(size=n).round(3),
            "price": rng.lognormal(3, 1, n).round(2),
            "rating": rng.uniform(1, 5, n).round(1),
            "brand": rng.choice(BRANDS, n),
            "colour": rng.choice(COLOURS, n),
            "in_stock": pd.array(rng.random(n) < 0.8, "boolean"),
            "added": pd.Timestamp("2026-03-01") - pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    taste = frame["brand"].map(dict(zip(BRANDS, [1.0, 0.6, 0.2, -0.2, -0.6, -1.0], strict=True)))
    age = (pd.Timestamp("2026-03-01") - frame["added"]).dt.days
    liking = frame["match"] + taste - 0.4 * np.log(frame["price"]) - age / 600
    liking += (
        np.where(frame["rating"] > 4, 0.5, 0.0)
        + frame["in_stock"].astype(float)
        + rng.normal(size=n)
    )
    frame["grade"] = np.digitize(liking, np.quantile(liking, [0.5, 0.8, 0.95]))
    for column, share in (("price", 0.1), ("rating", 0.4), ("brand", 0.1), ("in_stock", 0.05)):
        frame.loc[rng.random(n) < share, column] = None
    return frame.sample(frac=1, random_state=7).reset_index(drop=True)


def rankloop(command: str) -> None:
    """Run a command as the terminal would, and show it first."""
    print(f"\n$ rankloop {command}")
    app(shlex.split(command), standalone_mode=False)


def main() -> None:
    """Tell the story twice."""
    OUT.mkdir(exist_ok=True)
    rng = np.random.default_rng(5)
    shop(0, 300, rng).to_parquet(OUT / "judged.parquet")
    shop(300, 80, rng).to_csv(OUT / "next-day.csv", index=False)
    today = shop(400, 40, rng)
    today.drop(columns="grade").to_parquet(OUT / "today.parquet")

    rankloop("init out/judged.parquet -o out/shop.toml --force")
    rankloop(
        "compare --config out/shop.toml -r auto -r lambdamart -r lightgbm --folds 3 --no-search"
    )
    rankloop("train --config out/shop.toml -o out/shop.rlm")
    rankloop("score out/shop.rlm out/today.parquet --run -o out/today.run")
    rankloop("train out/next-day.csv --from out/shop.rlm -o out/shop.rlm")
    rankloop("explain out/shop.rlm out/today.parquet --top 3 --plot out/shop.png")
    rankloop("explain out/shop.rlm out/today.parquet --of q400 --top 2 --markdown")

    print("\nThe same in Python")
    judged = rl.read(OUT / "judged.parquet")
    test = rl.from_table(today, allow_nan=True)
    for ranker in (
        rl.Described(rl.Auto()),
        rl.Described(rl.LambdaMART(trees=100)),
    ):
        ranker.fit(judged)
        print(f"{ranker!r}: {rl.evaluate(test, ranker.predict(test))['nDCG@10']:.4f}")
    ranker = rl.Described(rl.Auto()).fit(judged)
    ranker.save(OUT / "python.rlm")
    again = rl.load(OUT / "python.rlm").partial_fit(rl.read(OUT / "next-day.csv"))
    print(f"after the next day: {rl.evaluate(test, again.predict(test))['nDCG@10']:.4f}")
    best = again.predict(today.drop(columns="grade"), qid=today["query_id"]).argmax()
    print(f"best of all today: {today['product_id'][best]}")


if __name__ == "__main__":
    main()
