"""A service with a large catalogue: PUT over HTTP, memory, ranking by ids, restart, pauses.

`python -m benchmarks.catalogue [--items 1000000]`; times are processor time of the service unless
it says otherwise.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import msgspec
import numpy as np

from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS = [f"n{k}" for k in range(12)]
CATEGORIES = [f"c{k}" for k in range(6)]
TEXTS = ["title", "maker"]
TICKS = os.sysconf("SC_CLK_TCK")
AT_ONCE = 5000


def settings(folder: str) -> object:
    """Return the settings of one loop with ten counters."""
    item = dict.fromkeys(NUMBERS, "number") | dict.fromkeys(CATEGORIES, "category")
    fields = {"item": item | dict.fromkeys(TEXTS, "text"), "request": {"query": "text"}}
    features: dict[str, object] = {name: {"number": f"item.{name}"} for name in NUMBERS}
    features |= {c: {"category": f"item.{c}", "limit": 20, "buckets": 4} for c in CATEGORIES}
    features |= {"words": {"words": "item.title"}}
    features |= {"match": {"match": ["request.query", "item.title"], "by": "bm25"}}
    for n, per in enumerate(["item", "item.c0", "item.c1", ["user", "item.c0"], ["user", "item"]]):
        for half_life in ("7d", "30d"):
            rate = {"rate": "click", "per": per, "half_life": half_life}
            features[f"rate{n}_{half_life}"] = rate
    loop = {"fields": fields, "features": features, "rankers": ["newton"]}
    journal = f"{folder}/shop.journal"
    return as_settings({"loops": {"shop": {**loop, "journal": journal}}})


def serve(folder: str) -> None:
    """Serve until the standard input ends; print the seconds that starting took."""
    begin, used = time.monotonic(), time.process_time()
    service = Service.start(settings(folder))
    started = time.monotonic() - begin, time.process_time() - used
    with background(service) as url:
        print(url, *started, flush=True)
        for line in sys.stdin:
            if line.startswith("save"):
                live, begin = service.loops["shop"].live, time.monotonic()
                with live.lock:
                    begin, used = time.monotonic(), time.thread_time()
                    parts = list(live.features.state.to_parts())
                    took = time.monotonic() - begin, time.thread_time() - used
                print(*took, sum(len(body) for _, body in parts), flush=True)
    service.stop()


@contextmanager
def served(folder: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a service in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.catalogue", "--serve", folder]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        url, elapsed, used = process.stdout.readline().split()
        print(
            f"started in {float(used):.1f} s ({float(elapsed):.1f} s elapsed), "
            f"{memory(process):,.0f} MB",
            flush=True,
        )
        yield process, url
        process.stdin.close()
        process.wait()


def used(process: subprocess.Popen[str]) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(process: subprocess.Popen[str]) -> float:
    """Return the resident memory of a process in MB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def make_items(rng: np.random.Generator, first: int) -> bytes:
    """Return a body with items."""
    numbers = rng.normal(size=(AT_ONCE, len(NUMBERS))).round(4).tolist()
    codes = rng.integers(0, 50, (AT_ONCE, len(CATEGORIES))).tolist()
    words = rng.integers(0, 5000, (AT_ONCE, 10)).tolist()
    items = []
    for k in range(AT_ONCE):
        fields: dict[str, object] = dict(zip(NUMBERS, numbers[k], strict=True))
        fields |= {c: f"v{code}" for c, code in zip(CATEGORIES, codes[k], strict=True)}
        text = " ".join(f"word{w:04d}" for w in words[k])
        fields |= {"title": text[:40], "maker": text[45:85]}
        items.append({"id": f"item-{first + k}", "fields": fields})
    return msgspec.json.encode(items)


def rank(client: httpx.Client, process: subprocess.Popen[str], n: int, requests: int) -> None:
    """Rank 100 random items by ids, and print what a request took."""
    rng = np.random.default_rng(1)
    before, elapsed = used(process), []
    for k in range(requests):
        ids = [f"item-{i}" for i in rng.integers(0, n, 120)]
        body = {"items": list(dict.fromkeys(ids))[:100], "user": f"u{k % 50}", "k": 10}
        begin = time.monotonic()
        client.post("/v1/shop/rank", json={**body, "query": "word0007 shoes"}).raise_for_status()
        elapsed.append(time.monotonic() - begin)
    print(
        f"rank 100 ids: {1e6 * (used(process) - before) / requests:,.0f} us; elapsed median "
        f"{1000 * np.median(elapsed):.1f} ms, 99% {1000 * np.quantile(elapsed, 0.99):.1f} ms",
        flush=True,
    )


def measure(n: int) -> None:
    """Fill, rank, save, restart."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        with (
            served(folder) as (process, url),
            httpx.Client(base_url=url, trust_env=False, timeout=600) as client,
        ):
            before = used(process)
            for first in range(0, n, AT_ONCE):
                body = make_items(rng, first)
                client.put("/v1/shop/items", content=body).raise_for_status()
                if (first + AT_ONCE) % 200_000 == 0:
                    print(f"  {first + AT_ONCE:,}: {memory(process):,.0f} MB", flush=True)
            took = used(process) - before
            print(f"PUT {n:,} items: {took:.0f} s, {n / took:,.0f} items/s; "
                  f"{memory(process):,.0f} MB", flush=True)  # fmt: skip
            rank(client, process, n, 300)
            process.stdin.write("save\n")
            process.stdin.flush()
            elapsed, cpu, size = process.stdout.readline().split()
            print(f"pause of a saved state: {float(cpu):.2f} s ({float(elapsed):.2f} s elapsed), "
                  f"{int(size) / 1e6:.0f} MB", flush=True)  # fmt: skip
            ranking = threading.Thread(target=rank, args=(client, process, n, 100))
            ranking.start()
            ranking.join()
            begin, before = time.monotonic(), used(process)
        print(f"stopped in {time.monotonic() - begin:.1f} s elapsed", flush=True)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        print(f"journal: {size / 1e6:,.0f} MB", flush=True)
        with (
            served(folder) as (process, url),
            httpx.Client(base_url=url, trust_env=False, timeout=600) as client,
        ):
            rank(client, process, n, 300)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--serve", metavar="FOLDER")
    options = parser.parse_args()
    serve(options.serve) if options.serve else measure(options.items)
