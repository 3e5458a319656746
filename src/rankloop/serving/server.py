"""The process: it starts a service from settings, and stops it after a signal."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import multiprocessing
import os
import resource
import socket
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import uvicorn

from rankloop.exceptions import DataError
from rankloop.serving.protocol import protocol
from rankloop.serving.service import Service
from rankloop.serving.startup import Startup
from rankloop.serving.workers import Workers, end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.context import SpawnProcess
    from multiprocessing.synchronize import Event

    from starlette.types import ASGIApp

    from rankloop.serving.protocol import Protocol
    from rankloop.serving.settings.service import ServerSettings, Settings
_log = logging.getLogger("rankloop.serving")

_ACCEPTS = 500  # connections in one turn of the event loop
_OTHER_FILES = 100  # journals, their logs and locks, and what libraries open
_SWITCH = 0.0002  # seconds that a thread may keep the interpreter while another waits for it
_COLLECT = (20_000, 10, 50)  # new objects, and younger collections, between two collections


def serve(settings: Settings, on_ready: Callable[[str], None] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; what was accepted by then is committed, applied and saved.

    Parameters
    ----------
    settings : checked
    on_ready : called with the address once it listens and every loop is ready
    """
    listening = _listen(settings)
    host, port = listening.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    try:
        if settings.server.workers == 1:
            _work(settings, listening, lambda: _call(on_ready, address))
        else:
            _supervise(settings, listening, lambda: _call(on_ready, address))
    finally:
        listening.close()


def _call(on_ready: Callable[[str], None] | None, address: str) -> None:
    if on_ready is not None:
        on_ready(address)


def _supervise(settings: Settings, listening: socket.socket, on_ready: Callable[[], None]) -> None:
    """Run the workers, which share the socket; this process itself answers no requests."""
    _log_json()
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()

    def tell() -> None:
        ready.wait()
        on_ready()

    with tempfile.TemporaryDirectory(prefix="rankloop-metrics-") as folder:
        shared = settings, listening, os.getpid(), ready, folder

        def start() -> SpawnProcess:
            worker = spawn.Process(target=_run_worker, args=shared)
            worker.start()
            return worker

        workers = Workers(start, settings.server.workers, ready.is_set)
        threading.Thread(target=tell, daemon=True).start()
        workers.run()


def _run_worker(
    settings: Settings, listening: socket.socket, parent: int, ready: Event, folder: str
) -> None:
    end_with_parent(parent)
    _work(settings, listening, ready.set, ready.is_set, folder)


def _work(
    settings: Settings,
    listening: socket.socket,
    on_ready: Callable[[], None],
    ready: Callable[[], bool] = lambda: False,
    folder: str = "",
) -> None:
    """Answer requests until a signal.

    ready : whether another process answers already; then this one first gets ready, too
    folder : where all processes write their metrics, if there are several
    """
    _log_json()

    def start() -> Service:
        service = Service.start(settings)
        if folder:
            service.share_metrics(folder)
        tune_interpreter()
        server.service = service
        return service

    def end() -> None:
        server.should_exit = True

    startup = Startup(start, on_ready, end)
    server = Server(
        config_of(startup, settings.server, lifespan="on", timeout_graceful_shutdown=10)
    )
    if ready():
        startup.run()
    if startup.fault is None:
        server.run(sockets=[listening])
    if startup.fault is not None:
        raise startup.fault


def fit_connections(wanted: int) -> int:
    """Return how many connections the limit of open files allows, after raising it if possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    allowed = max(soft - _OTHER_FILES, 1)
    _log.warning(
        "max_connections is %d, but this process may open only %d files: it takes %d connections; "
        "raise the limit (LimitNOFILE of systemd, or ulimit -n)",
        wanted,
        soft,
        allowed,
    )
    return allowed


def config_of(app: ASGIApp, server: ServerSettings, **more: Any) -> uvicorn.Config:
    """Return the configuration of uvicorn for an application."""
    return uvicorn.Config(
        app,
        http=protocol(fit_connections(server.max_connections)),
        log_config=None,
        access_log=False,
        timeout_keep_alive=30,
        backlog=2048,
        server_header=False,
        date_header=False,
        proxy_headers=bool(server.proxies),
        forwarded_allow_ips=list(server.proxies),
        ws="none",
        **more,
    )


class Server(uvicorn.Server):
    """uvicorn, which accepts many connections at a time."""

    service: Service | None = None

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._accepting: set[asyncio.Task[object]] = set()
        self._listening: list[socket.socket] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen.

        In one turn of the event loop, libuv accepts one connection. Turns are long under load, so
        that new connections would wait for many seconds, unseen by any limit.
        """
        own = [] if os.name == "nt" else list(sockets or [])  # where event loops offer no readers
        await super().startup(sockets=[] if own else sockets)
        self._listening = own
        for listening in own:
            listening.setblocking(False)
            self._listen(listening)

    def _listen(self, listening: socket.socket) -> None:
        if not self.should_exit:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Accept the connections that wait."""
        loop = asyncio.get_running_loop()
        for _ in range(_ACCEPTS):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # such as too many open files
                _log.error("no connection was accepted: %s; the next attempt is in 1 s", error)
                loop.remove_reader(listening)
                loop.call_later(1.0, self._listen, listening)
                return
            task = loop.create_task(loop.connect_accepted_socket(self._protocol, connection))
            self._accepting.add(task)
            task.add_done_callback(self._accepting.discard)

    def _protocol(self) -> asyncio.Protocol:
        kind = cast("type[Protocol]", self.config.http_protocol_class)
        return kind(self.config, self.server_state, self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, and finish the requests of those that are open."""
        if self.service is not None:
            self.service.draining = True
        for listening in self._listening:
            asyncio.get_running_loop().remove_reader(listening)
        await super().shutdown(sockets=sockets)


def _listen(settings: Settings) -> socket.socket:
    host, port = settings.server.host, settings.server.port
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(2048)
    except OSError as error:
        raise DataError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; choose another address "
            "with server.host and server.port, or another port with --port"
        ) from None
    listening.set_inheritable(True)
    return listening


def _log_json() -> None:
    """Write logs as lines of JSON on standard error; they hold no personal data."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.basicConfig(
        level=os.environ.get("RANKLOOP_LOG", "INFO"), handlers=[handler], force=True
    )


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "from": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["fault"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


@contextmanager
def background(service: Service, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve from a thread of this process, for examples and tests; yield the address."""
    listening = socket.create_server((host, port))
    server = Server(config_of(service.app(), service.settings.server, lifespan="off"))
    server.service = service
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://{host}:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def tune_interpreter() -> None:
    """Switch between threads often, and collect garbage seldom.

    Call it once per process, after all permanent data is loaded. The objects of requests are freed
    without a collection; a collection visits everything that a loop keeps, and stops all threads.
    """
    sys.setswitchinterval(_SWITCH)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)
