"""A database that is silent: its connections stand, but nothing comes through them."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

import pytest

from rankloop.serving.engine.snapshots import replay
from rankloop.serving.journal import session
from rankloop.serving.journal.base import UnreachableError
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.loop import Loop

from .tools import ranked, small, until


class Proxy:
    """Forwards bytes to PostgreSQL, until it is silent; it closes nothing."""

    def __init__(self, place):
        self._place = place
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.flows = threading.Event()
        self.flows.set()
        self._over = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self._over:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client):
        with suppress(OSError), client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._place)
            other = {client: server, server: client}
            while not self._over:
                for ready in select.select(list(other), [], [], 0.05)[0]:
                    self.flows.wait()
                    data = ready.recv(65_536)
                    if not data:
                        return
                    other[ready].sendall(data)

    def close(self):
        self._over = True
        self.flows.set()
        self._listening.close()


@pytest.fixture
def proxy(postgres):
    parts = urlsplit(postgres)
    folder = parse_qs(parts.query)["host"][0]
    proxy = Proxy(f"{folder}/.s.PGSQL.5432")
    proxy.address = f"postgresql://postgres@127.0.0.1:{proxy.port}{parts.path}"
    yield proxy
    proxy.close()


@pytest.mark.slow
def test_a_silent_database_is_given_up_and_found_again(proxy, postgres, rng, monkeypatch):
    monkeypatch.setattr(session, "ANSWER", 0.5)
    monkeypatch.setattr(session.PatientConnection, "patience", 0.5)
    monkeypatch.setattr(session, "_CONNECT", 2)
    with Loop("loop", small(window=0.0), open_journal(proxy.address, "loop")) as loop:
        entries = [ranked(loop, f"r{n}", rng) for n in range(3)]
        loop.append(entries[0])
        until(lambda: loop.leads)
        proxy.flows.clear()
        with pytest.raises(UnreachableError, match=r"did not answer within 0\.5 seconds"):
            loop.append(entries[1])
        until(lambda: loop.unwritten and not loop.leads)
        proxy.flows.set()

        def stored():
            try:
                return loop.append(entries[1])
            except UnreachableError:
                return None

        answers = []
        until(lambda: answers.append(stored()) or answers[-1])
        assert answers[-1][0].status in ("accepted", "duplicate")  # the lost answer may be late
        assert loop.append(entries[2])[0].status == "accepted"
        until(lambda: loop.leads and loop.published.totals.closed == 3)
        assert loop.fault is None
    with open_journal(postgres, "loop") as journal:
        found = [r.entry.id for r in journal.scan() if r.entry.key in {e.key for e in entries}]
        assert sorted(found) == ["r0", "r1", "r2"]
        assert replay(journal).totals.closed == 3
