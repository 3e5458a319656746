"""A process answers while its journals are replayed, and says why if that fails."""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from rankloop.exceptions import DataError
from rankloop.serving.service import Service
from rankloop.serving.settings.service import Settings
from rankloop.serving.startup import Startup

from .tools import small, until


@pytest.mark.anyio
async def test_livez_answers_before_the_service_is_ready(tmp_path):
    told = []
    settings = Settings({"shop": small(journal=str(tmp_path / "j"))})
    startup = Startup(lambda: Service.start(settings), lambda: told.append("ready"), told.clear)
    transport = httpx.ASGITransport(app=startup)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        assert (await client.get("/livez")).json() == {"status": "starting"}
        for path in ("/readyz", "/metrics", "/v1/shop/rank"):
            refused = await client.get(path)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "5"
            assert "replays its journals" in refused.json()["detail"]
        startup.run()
        assert told == ["ready"]
        assert (await client.get("/livez")).json() == {"status": "alive"}
        assert (await client.get("/readyz")).json() == {"status": "ready"}
    startup.service.stop()


def test_a_service_that_cannot_start_says_why():
    told = []

    def fail():
        raise DataError("no")

    startup = Startup(fail, told.clear, lambda: told.append("fault"))
    startup.run()
    assert told == ["fault"]
    assert isinstance(startup.fault, DataError)


@pytest.mark.slow
def test_a_process_answers_while_it_cannot_read_its_journal(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = tmp_path / "s.toml"
    path.write_text(f"[server]\nport = {port}\n[loops.shop]\nfeatures = 2\n")

    def status(path):
        with suppress(httpx.HTTPError):
            return httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False).status_code
        return 0

    def start():
        command = [Path(sys.executable).parent / "rankloop", "serve", path]
        return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)

    lock = sqlite3.connect(tmp_path / "shop.journal", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    for end in (signal.SIGTERM, None):
        process = start()
        try:
            until(lambda: status("/livez") == 200)
            assert status("/readyz") == 503
            if end is None:
                lock.execute("ROLLBACK")
                until(lambda: status("/readyz") == 200)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == -signal.SIGTERM
        finally:
            process.kill()
            process.communicate()
    lock.close()
    (tmp_path / "shop.journal").write_bytes(b"this is no journal" * 1000)
    process = start()
    words = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 1
    assert "shop.journal" in words.splitlines()[-1]
