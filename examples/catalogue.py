"""A shop that has only a catalogue and clicks: the loop computes features, and learns to rank.

Nobody writes a feature pipeline: the settings say what items have and what to count, items are sent
once, and rankings are asked for by ids. It prints how good the lists are that people see, day by
day, beside the same shop without counters, which knows only what is written in the catalogue.
"""

from __future__ import annotations

import tempfile

import numpy as np

import rankloop as rl
from rankloop.client import Client
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

FIELDS = {
    "item": {
        "title": "text",
        "price": "number",
        "brand": "category",
        "released": "date",
        "sale": "boolean",
    },
    "request": {"query": "text"},
}
CATALOGUE = {
    "price": {"number": "item.price"},
    "brand": {"category": "item.brand", "limit": 20, "buckets": 4},
    "sale": {"boolean": "item.sale"},
    "match": {"match": ["request.query", "item.title"], "by": "bm25"},
}
COUNTERS = {
    "ctr": {"rate": "click", "of": "impression", "half_life": "7d", "prior": 10},
    "liked": {
        "rate": "click",
        "of": "impression",
        "per": ["user", "item.brand"],
        "half_life": "30d",
        "prior": 5,
    },
}
BRANDS = ["acme", "best", "cosy", "delta", "early"]
COLOURS = ["red", "green", "blue"]
ITEMS, USERS, VISITS = 60, 12, 60


def catalogue(rng: np.random.Generator) -> dict[str, dict[str, object]]:
    """Return what the shop sells, with gaps."""
    return {
        f"shoe-{k}": {
            "title": f"{COLOURS[k % 3]} shoe",
            "price": float(rng.integers(20, 120)) if k % 7 else None,
            "brand": BRANDS[int(rng.integers(5))],
            "released": f"2026-{1 + k % 12:02d}-15",
            "sale": bool(rng.random() < 0.3),
        }
        for k in range(ITEMS)
    }


class People:
    """What people want, of which the shop knows nothing: quality, and a favourite brand each."""

    def __init__(self, rng: np.random.Generator, items: dict[str, dict[str, object]]) -> None:
        self._rng, self._items = rng, items
        self._quality = dict(zip(items, rng.normal(size=len(items)), strict=True))
        self._favourite = [BRANDS[int(rng.integers(5))] for _ in range(USERS)]

    def grades(self, user: int, colour: str, items: list[str]) -> np.ndarray:
        """Return how much a user likes each item."""
        worth = np.array([self._quality[item] for item in items])
        for k, item in enumerate(items):
            fields = self._items[item]
            worth[k] += 1.5 * (fields["brand"] == self._favourite[user])
            worth[k] += 1.5 * str(fields["title"]).startswith(colour)
        return np.clip(np.floor(worth), 0, 3)

    def visit(self, client: Client) -> tuple[list[str], np.ndarray]:
        """Let somebody search and click; return the ids in the order shown, and their grades."""
        user, colour = int(self._rng.integers(USERS)), COLOURS[int(self._rng.integers(3))]
        names = sorted(self._items)
        wanted = [names[k] for k in self._rng.choice(ITEMS, 12, replace=False)]
        shown = client.rank(wanted, query=f"{colour} shoe", user=f"user-{user}")
        grades = self.grades(user, colour, list(shown.ids))
        looks = self._rng.random(12) < 1 / (1 + 0.1 * np.arange(12))
        clicked = np.flatnonzero(looks & (self._rng.random(12) < grades / 3))
        client.feedback([rl.Feedback(shown.ranking_id, shown.ids[k]) for k in clicked])
        return list(shown.ids), grades


def simulate(features: dict[str, dict[str, object]], days: int) -> list[float]:
    """Serve a shop with these features, and return the nDCG@10 that people saw on each day."""
    rng = np.random.default_rng(0)
    items, now = catalogue(rng), [1_800_000_000.0]
    people, seen = People(rng, items), []
    with tempfile.TemporaryDirectory() as folder:
        loop = {"fields": FIELDS, "features": features, "journal": f"{folder}/shop.journal"}
        service = Service.start(
            as_settings({"loops": {"shop": {**loop, "rankers": ["newton"], "window": 600}}}),
            clock=lambda: now[0],
        )
        with background(service) as address, Client(address, "shop") as client:
            client.change("items", items)
            for _ in range(days):
                quality = []
                for _ in range(VISITS):
                    _, grades = people.visit(client)
                    now[0] += 86_400 / VISITS
                    query = rl.QueryDataset.from_arrays(grades[:, None], grades, group=[12])
                    value = rl.evaluate(query, -np.arange(12.0))["nDCG@10"]
                    quality.append(value)
                service.loops["shop"].settle()
                seen.append(float(np.nanmean(quality)))
        service.stop()
    return seen


def main() -> None:
    """Run the shop with and without counters."""
    days = 3
    fields, counters = simulate(CATALOGUE, days), simulate({**CATALOGUE, **COUNTERS}, days)
    for day in range(days):
        print(f"day {day + 1}: fields {fields[day]:.3f}, with counters {counters[day]:.3f}")


if __name__ == "__main__":
    main()
