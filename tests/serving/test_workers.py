"""Several processes of one service: replaced when they end, and never left behind."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from rankloop.serving import server
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed
from rankloop.serving.loop import Loop
from rankloop.serving.service import Service
from rankloop.serving.settings.service import Settings, read_settings
from rankloop.serving.shared_metrics import SharedMetrics

from .tools import small, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def workers_of(pid):
    """The processes that serve: children that run the worker's code."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {
        int(child)
        for child in children
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    }


def is_gone(pid):
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


@pytest.fixture
def serve(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = tmp_path / "s.toml"
    path.write_text(f"[server]\nport = {port}\nworkers = 2\n[loops.shop]\nfeatures = 2\n")
    started = []

    def start():
        process = subprocess.Popen(
            [Path(sys.executable).parent / "rankloop", "serve", path],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        until(lambda: answers() and len(workers_of(process.pid)) == 2)
        return process

    def answers():
        with suppress(httpx.HTTPError):
            return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).is_success
        return False

    answers.url = f"http://127.0.0.1:{port}"
    yield start, answers
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_workers_are_replaced_and_end_with_their_parent_however_it_ends(serve):
    start, answers = serve
    process = start()

    def metrics():
        lines = httpx.get(f"{answers.url}/metrics", trust_env=False).text.splitlines()
        counted = [line for line in lines if "seconds_count" in line and "readyz" in line]
        return sum(float(line.rpartition(" ")[2]) for line in counted)

    first = metrics()
    for _ in range(20):  # each on a connection of its own, so that both processes answer
        assert answers()
    until(lambda: metrics() == first + 20)
    before = workers_of(process.pid)
    os.kill(min(before), signal.SIGKILL)
    until(lambda: len(workers_of(process.pid) - {min(before)}) == 2)
    workers = workers_of(process.pid)
    process.kill()
    process.wait()
    until(lambda: all(map(is_gone, workers)))
    assert not answers()

    process = start()  # the port is free again
    workers = workers_of(process.pid)
    process.terminate()
    assert process.wait(120) == 0
    assert all(map(is_gone, workers))
    assert not answers()


def test_metrics_of_all_processes_are_one(tmp_path):
    """A process that ended keeps what it counted, and nothing else."""
    services, gone = [], 2**22 + 1  # an id that no process has
    for name, process in (("a", os.getpid()), ("b", gone)):
        settings = Settings({"shop": small(journal=str(tmp_path / name))})
        service = Service.start(settings)
        service.metrics.shared = SharedMetrics(str(tmp_path), service.metrics.registry, process)
        service.metrics.events.labels("shop", "applied").inc(3)
        service.metrics.seconds.labels("GET /livez", "200").observe(0.5)
        services.append(service)
    one, other = services
    other.metrics.shared.write()
    one.loops["shop"].append(Closed("r"))
    text = one.metrics.text().decode()
    assert 'rankloop_events_total{loop="shop",status="applied"} 6.0' in text
    assert 'rankloop_request_seconds_count{route="GET /livez",status="200"} 2.0' in text
    assert 'rankloop_request_seconds_bucket{le="0.512",route="GET /livez",status="200"} 2.0' in text
    assert 'rankloop_position{loop="shop"} 2.0' in text
    assert 'rankloop_ready{loop="shop"} 1.0' in text
    other.loops["shop"].append(Closed("r"), Closed("s"))
    other.metrics.shared.write()
    assert 'rankloop_position{loop="shop"} 2.0' in one.metrics.text().decode()
    for service in services:
        service.metrics.shared = None
        service.stop()


def test_connections_fit_the_limit_of_open_files(monkeypatch, caplog):
    limits = {"now": (256, 400)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: limits.update(now=both))
    assert server.fit_connections(5000) == 300
    assert limits["now"] == (400, 400)
    assert "may open only 400 files" in caplog.text
    assert server.fit_connections(200) == 200


def test_paths_begin_at_the_folder_of_the_settings(tmp_path, monkeypatch):
    path = tmp_path / "s.toml"
    path.write_text(
        '[privacy]\nmaster_key_file = "m.key"\n'
        '[loops.a]\nfeatures = 2\n[loops.b]\nfeatures = 2\njournal = "data/b.journal"\n'
        '[loops.c]\nfeatures = 2\njournal = "postgresql://me@here/there"\ntable = "/t.csv"\n'
    )
    monkeypatch.chdir("/")
    settings = read_settings(path, {})
    assert settings.loops["a"].journal == str(tmp_path / "a.journal")
    assert settings.loops["b"].journal == str(tmp_path / "data/b.journal")
    assert settings.loops["c"].journal == "postgresql://me@here/there"
    assert settings.loops["c"].table == "/t.csv"
    assert settings.privacy.master_key_file == str(tmp_path / "m.key")


def test_a_new_journal_is_announced_and_an_old_one_is_not(tmp_path, caplog):
    for first in (True, False):
        caplog.clear()
        with Loop("loop", small(), open_journal(str(tmp_path / "j"), "loop")):
            assert ("is a new, empty journal" in caplog.text) == first
