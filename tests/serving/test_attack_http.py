"""Hostile HTTP: slow, huge, malformed, smuggled, pipelined, idle. It answers others meanwhile."""

from __future__ import annotations

import json
import resource
import socket
import time

import httpx
import pytest

from rankloop.serving import protocol
from rankloop.serving.security import limits
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

from .tools import until

ITEMS = '"items": [{"id": "a", "features": [1, 0]}, {"id": "b", "features": [0, 1]}]'
BODY = f'{{"id": "r1", {ITEMS}}}'.encode()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with short patience; tests ask for what it must refuse, or change nothing."""
    patch = pytest.MonkeyPatch()
    patch.setattr(protocol, "HEADERS_WITHIN", 0.5)
    patch.setattr(limits, "SLOWEST", 0.5)
    loop = {"features": 2, "rankers": ["solar-i"]}
    loop["journal"] = str(tmp_path_factory.mktemp("attack") / "j")
    server = {"max_bytes": 100_000, "max_connections": 12_000}
    running = Service.start(as_settings({"loops": {"shop": loop}, "server": server}))
    with background(running) as url:
        running.url, running.port = url, int(url.rsplit(":", 1)[1])
        yield running
    running.stop()
    patch.undo()


def make_patient(patch):
    """Give clients time again, where what they get is a proper answer."""
    patch.setattr(protocol, "HEADERS_WITHIN", 60.0)
    patch.setattr(limits, "SLOWEST", 60.0)


@pytest.fixture
def patient(service, monkeypatch):
    make_patient(monkeypatch)


@pytest.fixture
def send(service):
    """Send bytes piece by piece, and return all that comes back until the end."""
    before = service.loops["shop"].head

    def talk(*pieces, pause=0.0, timeout=60.0):
        with socket.create_connection(("127.0.0.1", service.port), timeout) as connection:
            for piece in pieces:
                try:
                    connection.sendall(piece)
                except OSError:  # it closed on us, as it should
                    break
                time.sleep(pause)
            answer = b""
            try:
                while more := connection.recv(65_536):
                    answer += more
            except ConnectionError:
                pass
            return answer

    yield talk
    assert service.loops["shop"].head == before  # whatever was sent, nothing was journaled
    patience = pytest.MonkeyPatch()
    make_patient(patience)
    ready = httpx.get(f"{service.url}/readyz", trust_env=False, timeout=60)
    patience.undo()
    assert ready.status_code == 200


def status(answer):
    return int(answer.split(b" ", 2)[1])


def problem(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    found = json.loads(body)
    assert found["status"] == status(answer)
    return found


def request(*headers, body=BODY, line="POST /v1/shop/rank HTTP/1.1"):
    text = "\r\n".join([line, "Host: localhost", "Content-Type: application/json", *headers])
    return text.encode("latin-1") + b"\r\n\r\n" + body


def test_headers_that_never_end(send):
    drops = (f"X-{n}: y\r\n".encode() for n in range(1000))
    answer = send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n", *drops, pause=0.02)
    assert status(answer) == 408
    assert "headers did not end" in problem(answer)["detail"]


def test_nothing_at_all_is_closed_without_a_word(send):
    assert send() == b""


def test_a_body_that_never_ends(send):
    headers = f"Content-Length: {len(BODY)}"
    answer = send(request(headers, body=BODY[:5]))
    assert status(answer) == 408
    assert "connection: close" in answer.decode().lower()
    assert "did not arrive within" in problem(answer)["detail"]


def test_a_slow_second_request_on_one_connection(send):
    first = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = send(first, b"GET /livez", pause=0.1)
    assert status(answer) == 200
    assert b" 408 " in answer


@pytest.mark.parametrize("header", [f"X-Long: {'y' * 200_000}", "\r\n".join(["X: y"] * 20_000)])
def test_headers_too_large(send, header):
    answer = send(request(header, line="GET /livez HTTP/1.1", body=b""))
    assert status(answer) == 431 if answer else True  # it may close while we still send


def test_a_long_url_is_answered(send, patient):
    answer = send(
        f"GET /{'x' * 60_000} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    )
    assert status(answer) == 404


def test_bodies_too_large(send):
    answer = send(request("Content-Length: 99999999999", body=b""))
    assert status(answer) == 413
    assert "100,000 bytes" in problem(answer)["detail"]
    piece = b"fffff\r\n" + b" " * 0xFFFFF + b"\r\n"
    answer = send(request("Transfer-Encoding: chunked", body=b""), piece, piece)
    assert status(answer) == 413 if answer else True


@pytest.mark.parametrize(
    "head",
    [
        ("Content-Length: 5", "Content-Length: 50"),
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 5"),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: chunked, identity",),
        ("Content-Length: +5",),
        ("Content-Length: 0x5",),
        ("Content-Length: 5, 5",),
        ("Content-Length : 5",),
        ("X: y\x00z",),
        ("X: y\nTransfer-Encoding: chunked",),
    ],
)
def test_no_second_request_is_smuggled(send, head):
    inner = b"0\r\n\r\n" + request(f"Content-Length: {len(BODY)}")
    answer = send(request(*head, body=inner))
    assert answer.count(b"HTTP/1.1 ") <= 1
    if answer:
        assert 400 <= status(answer) < 500


@pytest.mark.parametrize(
    "content",
    [
        b"\x00" * 100,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /v1/shop/rank HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"hello\n",
    ],
)
def test_what_is_not_http(send, content):
    answer = send(content)
    if answer:
        assert status(answer) in (400, 403, 404, 405, 408)
        assert problem(answer)["detail"]


def test_pipelined_requests_are_answered_in_order(send, patient):
    paths = ["/livez", "/nothing", "/readyz"] * 10
    text = "".join(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n" for path in paths)
    answer = send(
        text.encode() + b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    found = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert found == [200, 404, 200] * 10 + [200]


def test_who_goes_away_halfway_leaves_nothing(send, service):
    whole = request(f"Content-Length: {len(BODY)}")
    for cut in (3, 40, len(whole) - 5):
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(whole[:cut])
    until(lambda: service.shedder.held == 0)
    assert service.loops["shop"].waiting == 0
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(b"GET /v1/shop/rankings/r1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status(connection.recv(10_000)) == 404


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"id": "r1", "id": "r2", ' + ITEMS.encode() + b', "k": 0}', 422),
        (b'{"items": ' + b'[{"id": ' * 3000 + b"1" + b"}]" * 3000 + b"}", 422),
        (b'{"about": ' + b'{"a":' * 15_000 + b"1" + b"}" * 15_000 + b"}", 422),
        (b'{"items": [{"id": "a", "features": ' + b"[" * 40_000, 400),
        (b'{"items": [{"id": "\\ud800", "features": [1, 2]}]}', 400),
        (b'{"items": [{"id": "a", "features": [1e999, 2]}]}', 422),
        (b'{"items": [{"id": "a", "features": [1, 2]}], "k": 1e30}', 422),
    ],
)
def test_json_that_hurts(send, patient, service, body, expected):
    headers = {"content-type": "application/json"}
    url = f"{service.url}/v1/shop/rank"
    answer = httpx.post(url, content=body, headers=headers, trust_env=False, timeout=60)
    assert answer.status_code in (expected, 400, 422)
    assert answer.json()["detail"]


@pytest.mark.slow
def test_ten_thousand_idle_connections(service, send, patient):
    """Loopback only; each costs a file on both sides."""
    wanted = 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * wanted + 500
    if hard != resource.RLIM_INFINITY and hard < needed:
        wanted = (hard - 500) // 2
        if wanted < 1000:
            pytest.skip(f"the system allows {hard:,} files, and this test needs {needed:,}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    idle = []
    try:
        for _ in range(wanted):
            idle.append(socket.create_connection(("127.0.0.1", service.port), 20))
        body = httpx.get(f"{service.url}/v1/shop", trust_env=False, timeout=60)
        assert body.status_code == 200
        # The newest: on a busy machine the oldest may have been idle for too long.
        idle[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" in idle[-1].recv(1000)
    finally:
        for connection in idle:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_more_connections_than_are_taken(tmp_path):
    loop = {"features": 2, "rankers": ["solar-i"], "journal": str(tmp_path / "j")}
    plain = {"loops": {"shop": loop}, "server": {"max_connections": 5}}
    service = Service.start(as_settings(plain))
    with background(service) as url:
        place = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        held = [socket.create_connection(place, 60) for _ in range(5)]
        with socket.create_connection(place, 60) as one_more:  # taken after those before it
            answer = one_more.recv(10_000)
        assert status(answer) == 503
        assert "retry-after: 1" in answer.decode()
        held.pop().close()
        until(lambda: httpx.get(f"{url}/livez", trust_env=False, timeout=60).status_code == 200)
        for connection in held:
            connection.close()
    service.stop()
