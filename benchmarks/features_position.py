"""Rates of clicks, plain and corrected for position: `python -m benchmarks.features_position`.

Simulated users look at place p with the chance p^-1, and click what they see by the item's own
chance. Another ranker decides the places, by scores that have little to do with these chances. It
prints how well rates order items by their true chances (Kendall's tau), with the mean and standard
error over seeds: of the plain rate, and of the rate per examination, which knows the users, or
assumes too little or too much.
"""

from __future__ import annotations

import numpy as np

from rankloop.features import Definitions, FeatureState, Request

ITEMS, REQUESTS, PLACES = 300, 3000, 20
POWERS = {"plain": None, "corrected": 1.0, "corrected too little": 0.5, "too much": 1.5}


def tau(x: np.ndarray, y: np.ndarray) -> float:
    """Return Kendall's tau."""
    upper = np.triu_indices(len(x), 1)
    return float((np.sign(x[:, None] - x) * np.sign(y[:, None] - y))[upper].mean())


def measure(seed: int) -> dict[str, float]:
    """Return the agreement of each rate with the true chances."""
    rng = np.random.default_rng(seed)
    chance, score = rng.beta(2, 6, ITEMS), rng.normal(size=ITEMS)
    names = [f"i{k}" for k in range(ITEMS)]
    states = {}
    for name, power in POWERS.items():
        of = "impression" if power is None else "examination"
        rate = {"rate": {"rate": "click", "of": of, "prior": 5}}
        seen = [p ** -(power or 0.0) for p in range(1, PLACES + 1)]
        states[name] = FeatureState(Definitions.read({}, rate), seen)
    for request in range(REQUESTS):
        found = rng.choice(ITEMS, PLACES, replace=False)
        shown = found[np.argsort(-score[found] - 0.3 * rng.normal(size=PLACES))]
        looked = rng.random(PLACES) < 1 / np.arange(1, PLACES + 1)
        clicked = shown[looked & (rng.random(PLACES) < chance[shown])]
        for state in states.values():
            state.show(f"r{request}", [names[k] for k in shown], Request(), 1000 * request)
            for k in clicked:
                state.observe(names[k], "click", 1.0, 1000 * request + 1, f"r{request}")
    end = 1000 * REQUESTS
    return {
        name: tau(state.matrix(names, Request(), end)[:, 0], chance)
        for name, state in states.items()
    }


def main() -> None:
    """Measure and print."""
    results = [measure(seed) for seed in range(10)]
    for name in POWERS:
        values = np.array([result[name] for result in results])
        error = values.std(ddof=1) / np.sqrt(len(values))
        print(f"{name:22s} {values.mean():.3f} ± {error:.3f}")


if __name__ == "__main__":
    main()
