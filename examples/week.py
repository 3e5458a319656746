"""What `make run` shows: a simulated week of the live loop.

A shop starts with what it has: it sorts by popularity. Two rankers that know nothing learn beside
it: `auto`, and the same without adapting. People search and click, and as soon as a ranker does
better for a while it is tried against what people see; clicks decide. After the fourth day people
change their taste. In the end the journal is replayed, and must lead to the same state, bit for
bit. `--keep` leaves the service running, `--rankings` sets how many a day, and `--seed` another
week.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

import rankloop as rl
from rankloop import Feedback
from rankloop.cli.tables import print_table
from rankloop.clicks.users import make_user
from rankloop.client import Client
from rankloop.plotting.figures import save_figure
from rankloop.plotting.streams import plot_week
from rankloop.serving.engine.snapshots import replay
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.learning.models import qualities
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

if TYPE_CHECKING:
    from rankloop.serving.loop import Loop

OUT = Path("out")
DAYS, DOCUMENTS = 7, 12
DRIFT = 4.0
FEATURES = ("popularity", "price", "rating", "age", "stock", "discount", "distance", "delivery")
POPULAR = "popular"
RANKERS = ("auto", "auto:adapt=False")
AHEAD = 0.03
"""A ranker is tried when its recent nDCG@10 is ahead by this."""
HOUR = 1 / 24


class Clock:
    """The week's own time, in seconds."""

    now = 1_000_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Shop:
    """A catalogue: what a search finds, and the order that the shop has so far."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def find(self) -> np.ndarray:
        """Return the features of the candidates of a search."""
        return self.rng.normal(size=(DOCUMENTS, len(FEATURES))).astype(np.float32)

    def sorter(self) -> rl.rankers.Ranker:
        """Return a frozen model that sorts by popularity."""
        X = self.find()
        grades = np.argsort(np.argsort(X[:, 0])).astype(np.float64) % DOCUMENTS // 4
        shop = rl.QueryDataset.from_arrays(X, grades, group=[DOCUMENTS], feature_names=FEATURES)
        return rl.rankers.SingleFeature().fit(shop)


class People:
    """People who know what is good, and change their mind once."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.user = make_user("perfect", grades=3)
        self.tastes = rng.normal(size=(2, len(FEATURES)))
        self.tastes[:, 0] = 1.0  # what is popular is liked a little, always

    def judge(self, X: np.ndarray, day: float) -> np.ndarray:
        """Return how good each candidate is for whoever asks."""
        worth = X @ self.tastes[int(day >= DRIFT)] + 0.5 * self.rng.normal(size=len(X))
        grades = np.zeros(len(X))
        grades[np.argsort(-worth)[:3]] = [2, 2, 1]
        return grades

    def click(self, grades: np.ndarray) -> np.ndarray:
        """Return the places that somebody clicks who sees documents of these grades."""
        return np.flatnonzero(self.user.sample(self.rng, grades))


def try_better(client: Client, loop: Loop) -> None:
    """Try rankers that did better recently than what people see, unless an experiment runs."""
    now = loop.published
    known = now.curves[now.champion].recent
    better = [name for name in RANKERS if now.curves[name].recent > known + AHEAD]
    if now.experiment is None and better:
        best = max(better, key=lambda name: now.curves[name].recent)
        client.send("POST", "experiments", {"challengers": [best], "promote": "auto"})


def quality(scores: np.ndarray, grades: np.ndarray) -> float:
    """Return the nDCG@10 of one list."""
    return qualities([scores], grades, np.array([0, len(grades)]))[0][0]


def begin(client: Client, shop: Shop) -> None:
    """Let people see what the shop has."""
    client.send("POST", f"models/{POPULAR}", content=shop.sorter().dumps())
    client.send("POST", "promote", {"model": POPULAR})


def live(
    client: Client, service: Service, clock: Clock, rankings: int, seed: int
) -> tuple[dict[str, list], list[float]]:
    """Let a week pass; return what was measured on the way, and what each search showed."""
    rng = np.random.default_rng(seed)
    shop, people, loop = Shop(rng), People(rng), service.loops["shop"]
    begin(client, shop)
    loop.settle()
    names = (POPULAR, *RANKERS)
    seen: dict[str, list] = {"days": [], "shown": [], **{name: [] for name in names}}
    happened: dict[str, float] = {"people change": DRIFT}
    late: dict[str, float] = {}
    raw: list[float] = []
    champion, noticed = POPULAR, 0
    for n in range(DAYS * rankings):
        day = n / rankings
        clock.now += 86_400 / rankings
        if n % max(int(rankings * HOUR), 1) == 0:
            try_better(client, loop)
        X = shop.find()
        grades = people.judge(X, day)
        items = [f"d{row}" for row in range(DOCUMENTS)]
        shown = client.rank(dict(zip(items, X.tolist(), strict=True)), k=10)
        rows = [int(item[1:]) for item in shown.ids]
        clicked = people.click(grades[rows])
        if len(clicked):
            client.feedback([Feedback(shown.ranking_id, shown.ids[place]) for place in clicked])
        loop.settle()  # a week in minutes: else rankers would work hours later than they would
        now = loop.published
        service.boards.look()
        places = np.full(DOCUMENTS, -float(DOCUMENTS))
        places[rows] = -np.arange(float(len(rows)))
        found = {"shown": quality(places, grades)}
        for name in names:
            found[name] = quality(
                now.models[name].predict(X, group=[DOCUMENTS]).astype(np.float64), grades
            )
        raw.append(found["shown"])
        for name, value in found.items():
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


def main() -> None:
    """Serve, search, click, learn, draw, replay."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rankings", type=int, default=360, help="a day")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep the service running")
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        journal = str(Path(folder) / "shop.journal")
        loop = {
            "features": list(FEATURES),
            "rankers": list(RANKERS),
            "journal": journal,
            "window": 1800,
            "check_every": 500,
        }
        clock = Clock()
        service = Service.start(as_settings({"loops": {"shop": loop}}), clock=clock)
        with (
            background(service, port=chosen.port) as address,
            Client(address, "shop", timeout=60) as client,
        ):
            console.print(f"A week of {DAYS * chosen.rankings:,} searches; watch it at {address}/")
            seen, raw = live(client, service, clock, chosen.rankings, chosen.seed)
            show(console, service, seen, raw, int(DRIFT * chosen.rankings))
            while chosen.keep:
                time.sleep(1)
        service.stop()
        with open_journal(journal, "shop") as opened:
            clean = replay(opened)
        same = clean.digest() == service.loops["shop"].inspect(lambda engine: engine.digest())
        verdict = "the same state, bit for bit" if same else "ANOTHER STATE"
        console.print(f"replayed {clean.position:,} entries: {verdict}")


def show(
    console: Console, service: Service, seen: dict[str, list], raw: list[float], at: int
) -> None:
    """Print and draw what happened."""
    now = service.loops["shop"].published
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
    curves = {name: seen[name] for name in names}
    figure = plot_week(seen["days"], curves, seen["shown"], seen["happened"])
    save_figure(figure, OUT / "week.png")
    learnt = now.totals.examples
    console.print(f"learnt from {learnt:,} rankings; the picture: {OUT / 'week.png'}")


if __name__ == "__main__":
    main()
