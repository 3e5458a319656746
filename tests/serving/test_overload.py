"""What a process does with more than it can do: it refuses early, and answers the rest soon."""

from __future__ import annotations

import asyncio
import json
import socket
import time

import pytest

from rankloop.exceptions import DataError
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.security import shedding
from rankloop.serving.security.shedding import LoadShedder
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

from .tools import running, until

ITEMS = [{"id": "a", "features": [1, 0]}, {"id": "b", "features": [0, 1]}]


def test_requests_are_refused_while_the_event_loop_is_late_and_only_then():
    async def live():
        shedder = LoadShedder(0.2, 100)
        shedder.admit()
        time.sleep(0.3)  # as many requests in one turn would take
        for _ in range(shedding._FEW):
            shedder.admit()  # if they are few, something else makes it late
        with pytest.raises(HTTPProblem, match="s late") as refused:
            shedder.admit()
        assert refused.value.status == 503
        for _ in range(1000):
            await asyncio.sleep(0)
            try:
                return shedder.admit()
            except HTTPProblem:
                await asyncio.sleep(0.01)
        raise AssertionError("it never admits again")

    asyncio.run(live())


def test_bytes_are_held_until_they_are_released():
    shedder = LoadShedder(1.0, 100)
    shedder.hold(60)
    with pytest.raises(HTTPProblem, match="60 bytes of requests"):
        shedder.hold(41)
    shedder.hold(40)
    shedder.release(60)
    shedder.hold(60)


def test_a_limit_of_bytes_below_that_of_one_request_is_refused():
    with pytest.raises(DataError, match=r"server\.max_waiting_bytes: found 5, expected at least"):
        as_settings({"server": {"max_waiting_bytes": 5}, "loops": {"a": {"features": 1}}})


@pytest.fixture
def service(tmp_path):
    loop = {"features": 2, "rankers": ["solar-i"], "journal": str(tmp_path / "j")}
    server = {"max_bytes": 200_000, "max_waiting_bytes": 200_000}
    service = Service.start(as_settings({"server": server, "loops": {"shop": loop}}))
    yield service
    service.stop()


def test_a_late_process_refuses_traffic_and_answers_monitoring_and_operators(service, monkeypatch):
    def refuse():
        raise HTTPProblem(503, "late")

    with running(service) as client:
        monkeypatch.setattr(service.shedder, "admit", refuse)
        for path in ("rank", "feedback", "judgements"):
            refused = client.post(f"/v1/shop/{path}", content=b"not read")
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
        for path in ("/livez", "/readyz", "/metrics", "/v1/shop", "/"):
            assert client.get(path).status_code == 200
        assert client.post("/v1/shop/promote", json={"model": "solar-i"}).status_code == 200


def test_bodies_that_together_are_too_large_are_refused_and_their_connections_go_on(service):
    """The rest of a refused body is thrown away; the next request is answered."""
    body = json.dumps({"items": ITEMS}).encode().ljust(190_000)
    head = f"POST /v1/shop/rank HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
    with running(service) as client:
        place = ("127.0.0.1", client.base_url.port)
        with (
            socket.create_connection(place, 60) as first,
            socket.create_connection(place, 60) as second,
        ):
            first.sendall(head.encode() + body[:-1])
            until(lambda: service.shedder.held == len(body) - 1)
            second.sendall(head.encode() + body[:60_000])
            answer = second.recv(10_000)
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"bytes of requests are being worked on" in answer
            second.sendall(body[60_000:150_000])
            time.sleep(0.1)  # so that it does not arrive together with the rest
            second.sendall(body[150_000:] + b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert second.recv(10_000).startswith(b"HTTP/1.1 200")
            first.sendall(body[-1:])
            assert first.recv(10_000).startswith(b"HTTP/1.1 200")
        until(lambda: service.shedder.held == 0)
