"""Categories on a simulated shop: `python -m benchmarks.categories [--seeds N]`.

A shop has products with 200 categories, 60 brands, a price that depends on the brand, a rating with
gaps, a boolean and a date. It prints nDCG@10 on held-out queries of `auto` and others, of the same
columns encoded by hand, and the time and memory of a query with many columns.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import rankloop as rl
from rankloop.features import Feature, Features
from rankloop.rankers import Described

NAMES = ("price", "rating", "sale", "added", "noise 1", "noise 2", "category", "brand")


def shop(seed: int, queries: int, categories: int = 200, brands: int = 60, m: int = 20):
    """Return a data set of products, described as a reader of tables would describe them."""
    rng = np.random.default_rng(seed)
    n = queries * m
    category, brand = _draw(rng, categories, n), _draw(rng, brands, n)
    worth, name = rng.normal(size=categories), 0.7 * rng.normal(size=brands)
    price = 0.7 * rng.normal(size=brands)[brand] + rng.normal(size=n)
    rating, sale, age = rng.normal(size=n), rng.random(n) < 0.3, rng.exponential(100, n)
    taste = worth[category] + name[brand] - 0.8 * price + 0.6 * rating + 0.7 * sale - 0.005 * age
    taste += 0.7 * rng.normal(size=n)
    grades = np.digitize(taste, np.quantile(taste, [0.6, 0.8, 0.92, 0.98]))
    shown = np.where(rng.random(n) < 0.3, np.nan, rating)
    noise = rng.normal(size=(2, n))
    columns = (np.exp(price), shown, sale, 20_000 - age, *noise, category, brand)
    kinds = ("number", "number", "boolean", "date", "number", "number", "category", "category")
    X = np.column_stack(columns).astype(np.float32)
    data = rl.QueryDataset.from_arrays(X, grades, group=[m] * queries, allow_nan=True)
    sizes = {"category": categories, "brand": brands}
    described = (
        Feature(name, kind, tuple(map(str, range(sizes.get(name, 0)))))
        for name, kind in zip(NAMES, kinds, strict=True)
    )
    return replace(data, feature_names=NAMES, features=Features(tuple(described)))


def by_hand(data, how: str):
    """Return the data with categories encoded by hand: `one-hot`, or their `frequency`."""
    X, learnt = data.X, Features.learn(data)
    numbers = learnt.select(range(6)).encode(X[:, :6])
    parts = [numbers]
    for j in (6, 7):
        codes = X[:, j].astype(int)
        if how == "one-hot":
            parts.append(np.eye(codes.max() + 1, dtype=np.float32)[codes])
        else:
            parts.append((np.bincount(codes) / len(codes))[codes][:, None].astype(np.float32))
    return replace(data, X=np.hstack(parts), feature_names=None, features=None)


def _draw(rng: np.random.Generator, count: int, n: int):
    usual = 1 / np.arange(1, count + 1)
    return rng.choice(count, n, p=usual / usual.sum())


def quality(seeds: int, train: int = 400, test: int = 200) -> dict[str, list[float]]:
    """Return nDCG@10 on held-out queries by ranker, one for each seed."""
    results: dict[str, list[float]] = {}
    for seed in range(seeds):
        data = shop(seed, train + test)
        forms = {"": data, **{how: by_hand(data, how) for how in ("one-hot", "frequency")}}
        for name, form, ranker in (
            ("auto", "", Described(rl.Auto())),
            ("auto, one-hot by hand", "one-hot", rl.Auto()),
            ("auto, frequency of each", "frequency", rl.Auto()),
            ("newton", "", Described(rl.Prepared(rl.NewtonXENDCG(), "standard"))),
            ("xendcg", "", Described(rl.XENDCG())),
            ("lambdamart", "", Described(rl.LambdaMART())),
        ):
            first, last = (
                forms[form].select(part) for part in (slice(0, train), slice(train, train + test))
            )
            scores = ranker.fit(first).predict(last)
            results.setdefault(name, []).append(rl.evaluate(last, scores, "nDCG@10")["nDCG@10"])
    return results


def speed(columns: int, queries: int = 60) -> dict[str, tuple[float, float]]:
    """Return processor time (ms) a query of 100 documents, and megabytes of the model."""
    results = {}
    for name, inner in (("newton", rl.NewtonXENDCG()), ("auto", rl.Auto())):
        data = shop(0, queries, columns // 2, columns - columns // 2, 100)
        numbers = replace(data, features=Features(tuple(data.features)))
        fixed = tuple(replace(column, limit=column.codes) for column in data.features)
        ranker = Described(inner, description=Features(fixed)).fit(numbers.select(slice(0, 20)))
        start = time.process_time()
        for query in numbers.select(slice(20, queries)):
            ranker.learn(query.X, query.y)
        milliseconds = 1e3 * (time.process_time() - start) / (queries - 20)
        results[name] = milliseconds, len(ranker.dumps()) / 1e6
    return results


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.categories", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    chosen = parser.parse_args()
    for name, values in quality(chosen.seeds).items():
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        print(f"{name:24s} {np.mean(values):.4f} +- {error:.4f}")
    for columns in (1000, 5000):
        for name, (milliseconds, megabytes) in speed(columns).items():
            print(f"{name}, 100 x {columns}: {milliseconds:.2f} ms a query, {megabytes:.2f} MB")


if __name__ == "__main__":
    main()
