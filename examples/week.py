"""What `make run` shows: a simulated week of the live loop.

A service starts with three rankers that know nothing: a champion, and two challengers in its
shadow. Users search and click. Each day the challengers that have done better recently are tried
against the champion, and one is promoted when clicks prove it better. After the fourth day people
change their taste. In the end the journal is replayed, and must lead to the same state, bit for
bit. `--keep` leaves the service running, `--rankings` sets how many a day.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from rankloop import Feedback
from rankloop.cli.tables import print_table
from rankloop.clicks.users import make_user
from rankloop.client import Client
from rankloop.plotting.save import save_figure
from rankloop.plotting.weeks import plot_week
from rankloop.serving.app import Service
from rankloop.serving.config import as_settings
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.models import qualities
from rankloop.serving.server import background
from rankloop.serving.snapshots import replayed

if TYPE_CHECKING:
    from rankloop.serving.service import Loop

OUT = Path("out")
DAYS, DOCUMENTS, WIDTH = 7, 12, 8
DRIFT = 4.0
RANKERS = ("perceptron", "newton", "xendcg:rate=0.1")


class Clock:
    """The week's own time, in seconds."""

    now = 1_000_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Users:
    """People who know what is good, and change their mind once."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.user = make_user("informational", grades=3)
        self.tastes = rng.normal(size=(2, WIDTH))

    def ask(self, day: float) -> tuple[np.ndarray, np.ndarray]:
        """Return candidates, and how good each is for whoever asks."""
        X = self.rng.normal(size=(DOCUMENTS, WIDTH)).astype(np.float32)
        worth = X @ self.tastes[int(day >= DRIFT)] + 0.5 * self.rng.normal(size=DOCUMENTS)
        grades = np.zeros(DOCUMENTS)
        grades[np.argsort(-worth)[:3]] = [2, 2, 1]
        return X, grades


def try_better(client: Client, loop: Loop) -> None:
    """End yesterday's experiment, if clicks did not, and try those that did better recently."""
    now = loop.published
    if now.duel is not None:
        client.send("POST", f"experiments/{now.duel.id}/end", {})
        loop.settle()
    known = now.curves[now.champion].recent
    better = [name for name in RANKERS if now.curves[name].recent > known]
    if better:
        body = {"challengers": better, "promote": "auto", "watch": 0.1}
        client.send("POST", "experiments", body)


def quality(scores: np.ndarray, grades: np.ndarray) -> float:
    """Return the nDCG@10 of one list."""
    return qualities([scores], grades, np.array([0, len(grades)]))[0][0]


def live(client: Client, service: Service, clock: Clock, rankings: int) -> dict[str, list]:
    """Let a week pass, and return what was measured on the way."""
    rng = np.random.default_rng(7)
    users, loop = Users(rng), service.loops["shop"]
    seen: dict[str, list] = {"days": [], "shown": [], **{name: [] for name in RANKERS}}
    happened: dict[str, float] = {"people change": DRIFT}
    late: dict[str, float] = {}
    champion = RANKERS[0]
    for n in range(DAYS * rankings):
        day = n / rankings
        clock.now += 86_400 / rankings
        if n and n % rankings == 0:
            try_better(client, loop)
        X, grades = users.ask(day)
        names = [f"d{row}" for row in range(DOCUMENTS)]
        shown = client.rank(dict(zip(names, X.tolist(), strict=True)), k=10)
        rows = [int(name[1:]) for name in shown.ids]
        clicked = np.flatnonzero(users.user.sample(rng, grades[rows]))
        if len(clicked):
            client.feedback([Feedback(shown.ranking_id, shown.ids[place]) for place in clicked])
        now = loop.published
        service.boards.look()
        places = np.full(DOCUMENTS, -float(DOCUMENTS))
        places[rows] = -np.arange(float(len(rows)))
        found = {"shown": quality(places, grades)}
        for name in RANKERS:
            found[name] = quality(now.models[name].predict(X).astype(np.float64), grades)
        for name, value in found.items():
            late[name] = value if name not in late else late[name] + 0.03 * (value - late[name])
            seen[name].append(late[name])
        seen["days"].append(day)
        if now.champion != champion:
            champion = now.champion
            happened[f"{champion} promoted"] = day
    return seen | {"happened": happened}


def main() -> None:
    """Serve, search, click, learn, draw, replay."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rankings", type=int, default=360, help="a day")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep the service running")
    chosen = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        journal = str(Path(folder) / "shop.journal")
        loop = {
            "features": WIDTH,
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
            seen = live(client, service, clock, chosen.rankings)
            service.loops["shop"].settle()
            champion = service.loops["shop"].published.champion
            rows = [[name, "*" if name == champion else "", seen[name][-1]] for name in RANKERS]
            rows.append(["what people saw", "", seen["shown"][-1]])
            print_table(["model", "champion", "nDCG@10"], sorted(rows, key=lambda row: -row[2]))
            for words, day in sorted(seen["happened"].items(), key=lambda item: item[1]):
                console.print(f"day {day:.1f}: {words}")
            curves = {name: seen[name] for name in RANKERS}
            figure = plot_week(seen["days"], curves, seen["shown"], seen["happened"])
            save_figure(figure, OUT / "week.png")
            examples = client.state()["counters"]["examples"]
            console.print(f"learnt from {examples:,} rankings; the picture: {OUT / 'week.png'}")
            while chosen.keep:
                time.sleep(1)
        service.stop()
        with open_journal(journal, "shop") as opened:
            clean = replayed(opened)
        same = clean.digest() == service.loops["shop"].inspect(lambda engine: engine.digest())
        found = "the same state, bit for bit" if same else "ANOTHER STATE"
        console.print(f"replayed {clean.position:,} entries: {found}")


if __name__ == "__main__":
    main()
