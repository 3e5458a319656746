"""Train and serve: judged data teach a ranker, a service ranks with it and learns from clicks.

It prints how good the lists are that people see, day by day, beside the model that was trained and
left alone. The people want something else than the judges did.
"""

from __future__ import annotations

import tempfile

import numpy as np

import rankloop as rl
from rankloop.client import Client
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

FEATURES = ["match", "rating", "price", "age"]
JUDGES, PEOPLE = np.array([1.0, 0.5, 0.0, 0.0]), np.array([1.0, 0.5, -1.5, -0.5])


def search(rng: np.random.Generator, taste: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of ten products, and their grades for somebody of this taste."""
    X = rng.normal(size=(10, len(FEATURES)))
    grades = np.zeros(10)
    grades[np.argsort(-(X @ taste + 0.5 * rng.normal(size=10)))[:3]] = [2, 1, 1]
    return X, grades


def visit(client: Client, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Let somebody search and click; return features, grades, and the places of what they saw."""
    X, grades = search(rng, PEOPLE)
    items = {f"p{k}": dict(zip(FEATURES, row, strict=True)) for k, row in enumerate(X.tolist())}
    shown = client.rank(items)
    rows = [int(name[1:]) for name in shown.ids]
    liked = rng.random(10) < 0.45 * grades[rows] / (1 + 0.2 * np.arange(10))  # fewer look below
    if liked.any():
        client.feedback(
            [rl.Feedback(shown.ranking_id, shown.ids[k]) for k in np.flatnonzero(liked)]
        )
    return X, grades, np.argsort(rows)


def main() -> None:
    """Train, serve, let five days pass."""
    rng = np.random.default_rng(0)
    pages = [search(rng, JUDGES) for _ in range(60)]
    judged = rl.QueryDataset.from_arrays(
        np.vstack([X for X, _ in pages]), np.hstack([y for _, y in pages]), group=[10] * 60
    )
    trained = rl.Auto().fit(judged)
    now = [1_000_000_000.0]
    with tempfile.TemporaryDirectory() as folder:
        loop = {"features": FEATURES, "rankers": ["auto"], "journal": f"{folder}/shop.journal"}
        service = Service.start(as_settings({"loops": {"shop": loop}}), clock=lambda: now[0])
        with background(service) as address, Client(address, "shop") as client:
            client.send("POST", "models/trained", content=trained.dumps())
            client.send("POST", "promote", {"model": "trained", "reason": "it knows the judges"})
            for day in range(1, 6):
                seen, frozen = [], []
                for _ in range(100):
                    X, grades, places = visit(client, rng)
                    now[0] += 864
                    service.loops["shop"].settle()
                    query = rl.QueryDataset.from_arrays(X, grades, group=[10])
                    seen.append(rl.evaluate(query, -places.astype(float))["nDCG@10"])
                    frozen.append(rl.evaluate(query, trained.predict(query))["nDCG@10"])
                print(f"day {day}: people saw {np.mean(seen):.3f}, frozen {np.mean(frozen):.3f}")
        service.stop()


if __name__ == "__main__":
    main()
