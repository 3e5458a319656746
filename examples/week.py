"""What `make run` shows: a simulated week of the live loop.

A shop starts with what it has: a catalogue, sorted by popularity. Two rankers that know nothing
learn beside it: `auto`, and the same without adapting, to compare. People search and click, and as
soon as `auto` has learnt from some searches it is tried against what people see; clicks
decide. After the fourth day the weather changes, and people with it: they want other categories,
and look at other things.
In the end the journal is replayed, and must lead to the same state, bit for bit. `--keep` leaves
the service running, `--rankings` sets how many a day, `--seed` another week, and `--user` how
people click.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

import rankloop as rl
from rankloop import Feedback
from rankloop.cli.tables import print_table
from rankloop.clicks.users import USERS, make_user
from rankloop.client import Client
from rankloop.features.request import Request
from rankloop.plotting.figures import save_figure
from rankloop.plotting.streams import plot_week
from rankloop.serving.engine.snapshots import replay
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.learning.changes import adaptive_part
from rankloop.serving.learning.models import qualities
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.serving.loop import Loop

OUT = Path("out")
DAYS, ITEMS, DOCUMENTS = 7, 400, 12
DRIFT = 4.0
NUMBERS = ("popularity", "price", "rating", "age", "stock", "discount")
CATEGORIES = ("boots", "coats", "jumpers", "sandals", "swimwear", "shorts", "bags", "belts")
SEASONS = (("boots", "coats", "jumpers"), ("sandals", "swimwear", "shorts"))
"""The categories that people want before and after they change."""
FIELDS = {"item": {**dict.fromkeys(NUMBERS, "number"), "category": "category"}}
FEATURES = {name: {"number": f"item.{name}"} for name in NUMBERS}
FEATURES |= {"category": {"category": "item.category", "limit": len(CATEGORIES)}}
POPULAR = "popular"
RANKERS = ("auto", "auto:adapt=False")
ENOUGH = 60
"""`auto` is tried when it has learnt from so many searches."""
HOUR = 1 / 24


class Clock:
    """The week's own time, in seconds."""

    now = 1_000_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Shop:
    """A catalogue, and what a search finds in it."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.numbers = rng.normal(size=(ITEMS, len(NUMBERS))).astype(np.float32)
        self.categories = rng.integers(0, len(CATEGORIES), ITEMS)

    def items(self) -> dict[str, dict[str, object]]:
        """Return the fields of all items, by id."""
        return {
            f"item-{k}": {
                **dict(zip(NUMBERS, self.numbers[k].tolist(), strict=True)),
                "category": CATEGORIES[self.categories[k]],
            }
            for k in range(ITEMS)
        }

    def find(self) -> np.ndarray:
        """Return the numbers of the items that a search finds."""
        return self.rng.choice(ITEMS, DOCUMENTS, replace=False)


class People:
    """People who know what is good, and change their mind once."""

    def __init__(self, rng: np.random.Generator, shop: Shop, user: str) -> None:
        self.rng, self.shop = rng, shop
        self.user = make_user(user, grades=3)
        self.tastes = 0.7 * rng.normal(size=(2, len(NUMBERS)))
        self.tastes[:, 0] = 0.7  # what is popular is liked a little, always
        self.wanted = np.array([np.isin(CATEGORIES, season) for season in SEASONS])

    def judge(self, items: np.ndarray, day: float) -> np.ndarray:
        """Return how good each item is for whoever asks."""
        now, shop = int(day >= DRIFT), self.shop
        worth = (
            shop.numbers[items] @ self.tastes[now] + 2.0 * self.wanted[now][shop.categories[items]]
        )
        worth += 0.5 * self.rng.normal(size=len(items))
        grades = np.zeros(len(items))
        grades[np.argsort(-worth)[:3]] = [2, 2, 1]
        return grades

    def click(self, grades: np.ndarray) -> np.ndarray:
        """Return the places that somebody clicks who sees documents of these grades."""
        return np.flatnonzero(self.user.sample(self.rng, grades))


def try_auto(client: Client, loop: Loop) -> None:
    """Try `auto` against what people see, unless it is tried already.

    How well each does on clicks cannot choose: people click what they are shown, which helps what
    is shown.
    """
    now = loop.published
    if now.experiment is None and now.champion != "auto" and now.totals.examples >= ENOUGH:
        client.send("POST", "experiments", {"challengers": ["auto"], "promote": "auto"})


def quality(scores: np.ndarray, grades: np.ndarray) -> float:
    """Return the nDCG@10 of one list."""
    return qualities([scores], grades, np.array([0, len(grades)]))[0][0]


def found_by(loop: Loop, items: list[str], clock: Clock) -> rl.QueryDataset:
    """Return what the models of a loop see of items: their features, as they are now."""
    with loop.live.lock:
        X = loop.live.features.compute(items, Request(), int(1000 * clock()), None).X
    settings = loop.published.settings
    data = rl.QueryDataset.from_arrays(
        X, np.zeros(len(X)), group=[len(X)], feature_names=settings.names, allow_nan=True
    )
    return replace(data, features=settings.columns)


def begin(client: Client, shop: Shop) -> None:
    """Send the catalogue, and let people see it as the shop sorts it: by popularity."""
    client.change("items", shop.items())
    popularity = shop.numbers[:, :1]
    grades = np.digitize(popularity[:, 0], [0.0, 0.7, 1.4]).astype(np.float64)
    data = rl.QueryDataset.from_arrays(
        popularity, grades, group=[ITEMS], feature_names=("popularity",)
    )
    model = rl.rankers.Described(rl.rankers.SingleFeature()).fit(data)
    client.send("POST", f"models/{POPULAR}", content=model.dumps())
    client.send("POST", "promote", {"model": POPULAR})


def live(
    client: Client, service: Service, clock: Clock, rankings: int, seed: int, user: str
) -> tuple[dict[str, list], list[float]]:
    """Let a week pass; return what was measured on the way, and what each search showed."""
    rng = np.random.default_rng(seed)
    shop, loop = Shop(rng), service.loops["shop"]
    people = People(rng, shop, user)
    begin(client, shop)
    loop.settle()
    names = (POPULAR, *RANKERS)
    seen: dict[str, list] = {"days": [], "shown": [], "old": [], **{name: [] for name in names}}
    happened: dict[str, float] = {"people change": DRIFT}
    late: dict[str, float] = {}
    raw: list[float] = []
    champion, noticed = POPULAR, 0
    for n in range(DAYS * rankings):
        day = n / rankings
        clock.now += 86_400 / rankings
        if n % max(int(rankings * HOUR), 1) == 0:
            try_auto(client, loop)
        found = shop.find()
        grades = people.judge(found, day)
        items = [f"item-{k}" for k in found]
        seen_by_models = found_by(loop, items, clock)
        shown = client.rank(items, k=10)
        rows = [items.index(item) for item in shown.ids]
        clicked = people.click(grades[rows])
        if len(clicked):
            client.feedback([Feedback(shown.ranking_id, shown.ids[place]) for place in clicked])
        loop.settle()  # a week in minutes: else rankers would work hours later than they would
        now = loop.published
        service.boards.look()
        places = np.full(DOCUMENTS, -float(DOCUMENTS))
        places[rows] = -np.arange(float(len(rows)))
        values = {"shown": quality(places, grades)}
        for name in names:
            scores = now.models[name].predict(seen_by_models)
            values[name] = quality(scores.astype(np.float64), grades)
        raw.append(values["shown"])
        seen["old"].append(people.wanted[0][shop.categories[found[rows[:3]]]].mean())
        for name, value in values.items():
            late[name] = value if name not in late else late[name] + 0.03 * (value - late[name])
            seen[name].append(late[name])
        seen["days"].append(day)
        if now.champion != champion:
            champion = now.champion
            happened[f"{champion} promoted"] = day
        if now.changes["auto"].count > noticed:
            noticed = now.changes["auto"].count
            happened[f"auto noticed a change ({noticed})"] = day
    return seen | {"happened": happened}, raw


def searches_to_recover(raw: list[float], at: int, share: float = 0.9) -> int | None:
    """Return after how many searches what people see has regained this share of what it lost."""
    before, after = np.mean(raw[max(at - 200, 0) : at]), np.mean(raw[at : at + 15])
    for n in range(len(raw) - at - 50):
        if np.mean(raw[at + n : at + n + 50]) >= before - (1 - share) * (before - after):
            return n
    return None


@contextlib.contextmanager
def shop_service(
    folder: str, clock: Clock, port: int, **settings: object
) -> Iterator[tuple[Client, Service, str]]:
    """Run the service of the shop, with an empty journal in this folder.

    settings : of the loop, besides those of the example
    """
    loop = {
        "fields": FIELDS,
        "features": FEATURES,
        "rankers": list(RANKERS),
        "journal": str(Path(folder) / "shop.journal"),
        "window": 1800,
        "check_every": 500,
        **settings,
    }
    service = Service.start(as_settings({"loops": {"shop": loop}}), clock=clock)
    try:
        with (
            background(service, port=port) as address,
            Client(address, "shop", timeout=60) as client,
        ):
            yield client, service, address
    finally:
        service.stop()


def main() -> None:
    """Serve, search, click, learn, draw, replay."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rankings", type=int, default=360, help="a day")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep the service running")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--user", choices=USERS, default="perfect", help="how people click")
    chosen = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    console, clock = Console(), Clock()
    with tempfile.TemporaryDirectory() as folder:
        with shop_service(folder, clock, chosen.port) as (client, service, address):
            console.print(f"A week of {DAYS * chosen.rankings:,} searches; watch it at {address}/")
            seen, raw = live(client, service, clock, chosen.rankings, chosen.seed, chosen.user)
            show(console, service, seen, raw, int(DRIFT * chosen.rankings))
            while chosen.keep:
                time.sleep(1)
        with open_journal(str(Path(folder) / "shop.journal"), "shop") as opened:
            clean = replay(opened)
        same = clean.digest() == service.loops["shop"].inspect(lambda engine: engine.digest())
        verdict = "the same state, bit for bit" if same else "ANOTHER STATE"
        console.print(f"replayed {clean.position:,} entries: {verdict}")


def show(
    console: Console, service: Service, seen: dict[str, list], raw: list[float], at: int
) -> None:
    """Print and draw what happened."""
    loop = service.loops["shop"]
    now = loop.published
    names = (POPULAR, *RANKERS)
    rows = [[name, "*" if name == now.champion else "", seen[name][-1]] for name in names]
    rows.append(["what people saw", "", seen["shown"][-1]])
    print_table(["model", "champion", "nDCG@10"], sorted(rows, key=lambda row: -row[2]))
    for words, day in sorted(seen["happened"].items(), key=lambda item: item[1]):
        console.print(f"day {day:.2f}: {words}")
    took = searches_to_recover(raw, at)
    regained = "not in this week" if took is None else f"after {took:,} searches"
    console.print(f"90% of what the change took from people was regained {regained}")
    console.print(f"people saw {np.mean(raw):.3f} on average")
    old = [seen["old"][a:b] for a, b in ((at - 100, at), (at, at + 100), (-100, None))]
    before, after, last = (f"{np.mean(part):.0%}" for part in old)
    console.print(
        f"what was in season is {before} of the first three before the change, {after} of them in "
        f"the next 100 searches and {last} in the last"
    )
    adaptive, labels = adaptive_part(now.models["auto"]), loop.live.labels()
    moved = [] if adaptive is None else adaptive.moved_weights()[:5]
    words = ", ".join(labels.get(part["feature"], part["feature"]) for part in moved)
    console.print(f"what counts differently now: {words}")
    curves = {name: seen[name] for name in names}
    figure = plot_week(seen["days"], curves, seen["shown"], seen["happened"])
    save_figure(figure, OUT / "week.png")
    learnt = now.totals.examples
    console.print(f"learnt from {learnt:,} rankings; the picture: {OUT / 'week.png'}")


if __name__ == "__main__":
    main()
