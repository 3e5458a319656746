"""Replace a LightGBM ranker: keep its trees, compare them with ours, and let them go on learning.

Start: a ranker that LightGBM trained. It is imported with the same scores, measured beside others
on the same queries, and then corrected by each query that comes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import lightgbm as lgb
import numpy as np
from collection import parts

import rankloop as rl
from rankloop.rankers import Imported, Stacked


def trained_by_lightgbm(train: rl.QueryDataset) -> lgb.Booster:
    """Return what you have today."""
    settings = {"objective": "lambdarank", "learning_rate": 0.05, "verbose": -1, "num_threads": 1}
    settings |= {"seed": 0, "deterministic": True, "min_data_in_leaf": 50}
    return lgb.train(settings, lgb.Dataset(train.X, train.y, group=train.sizes), 100)


def main() -> None:
    """Import, compare, go on learning."""
    train, valid, test = parts()
    booster = trained_by_lightgbm(train)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        booster.save_model(path)
        imported = Imported.read(path)
    same = bool((imported.predict(test) == booster.predict(test.X)).all())
    print(f"imported {booster.num_trees()} trees; the same scores, bit for bit: {same}")

    rankers = {
        "LightGBM, imported": imported,
        "LambdaMART": rl.LambdaMART(trees=300, rate=0.05).fit(train, valid=valid),
        "auto": rl.Auto().fit(train).partial_fit(valid),
    }
    scores = {name: ranker.predict(test) for name, ranker in rankers.items()}
    measured = {name: rl.evaluate(test, values, "nDCG@10") for name, values in scores.items()}
    values = {name: evaluation.result("nDCG@10").values for name, evaluation in measured.items()}
    for name, evaluation in measured.items():
        print(f"{name:20} {evaluation['nDCG@10']:.4f}")
    for row in rl.compare_runs(values, baseline="LightGBM, imported").differences:
        print(f"{row.system} beside it: {row.difference:+.4f}, p = {row.p_adjusted:.3f}")

    live = Stacked.over(imported, valid)  # the trees stay; what is added to them is learnt
    seen = []
    for query in test:
        seen.append(live.predict(query))
        live.learn(query.X, query.y)
    reached = rl.evaluate(test, np.concatenate(seen), "nDCG@10")["nDCG@10"]
    print(f"the imported trees, corrected by each query after it was ranked: {reached:.4f}")


if __name__ == "__main__":
    main()
