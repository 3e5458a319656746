"""Rankings by ids, whose features the service computes, against rankings that carry 46 numbers.

Both services run in this process, one after the other in short turns, and the client asks one
request at a time: what is compared is the work of a request. `python -m benchmarks.rank_by_ids`
"""

from __future__ import annotations

import argparse
import tempfile
import time

import httpx
import msgspec
import numpy as np

from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

ITEMS = 100
NUMBERS = [f"n{k}" for k in range(16)]
BRANDS = [f"c{k}" for k in range(4)]


def definitions() -> dict[str, object]:
    """Return fields and 30 features, of which 10 are counters."""
    fields = {
        "item": {
            **dict.fromkeys(NUMBERS, "number"),
            **dict.fromkeys(BRANDS, "category"),
        },
        "request": {"query": "text"},
    }
    features: dict[str, object] = {name: {"number": f"item.{name}"} for name in NUMBERS}
    features |= {name: {"category": f"item.{name}", "limit": 8, "buckets": 2} for name in BRANDS}
    keys = ["item", "item.c0", "item.c1", ["user", "item.c0"], ["request.query", "item"]]
    for n, per in enumerate(keys):
        for half_life in ("7d", "30d"):
            features[f"rate{n}_{half_life}"] = {
                "rate": "click",
                "of": "impression",
                "per": per,
                "half_life": half_life,
                "prior": 10,
            }
    return {"fields": fields, "features": features}


def main() -> None:
    """Print requests per second of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--requests", type=int, default=50)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    ids = [f"item-{k}" for k in range(2000)]
    with tempfile.TemporaryDirectory() as folder:
        common = {"rankers": ["slam"], "journal": f"{folder}/a.journal"}
        loops = {
            "ids": {**definitions(), **common},
            "numbers": {"features": 46, **common, "journal": f"{folder}/b.journal"},
        }
        service = Service.start(as_settings({"loops": loops}))
        with background(service) as url, httpx.Client(base_url=url, trust_env=False) as client:
            catalogue = [
                {
                    "id": name,
                    "fields": {n: float(rng.normal()) for n in NUMBERS}
                    | {c: f"b{int(rng.integers(8))}" for c in BRANDS},
                }
                for name in ids
            ]
            client.put("/v1/ids/items", json=catalogue).raise_for_status()
            bodies = {"ids": [], "numbers": []}
            for _ in range(20):
                chosen = [ids[k] for k in rng.choice(len(ids), ITEMS, replace=False)]
                asked = {"items": chosen, "query": "red shoes", "user": "anna", "k": 10}
                bodies["ids"].append(msgspec.json.encode(asked))
                rows = rng.normal(size=(ITEMS, 46)).round(6).tolist()
                items = [{"id": i, "features": x} for i, x in zip(chosen, rows, strict=True)]
                bodies["numbers"].append(msgspec.json.encode({"items": items, "k": 10}))
            times: dict[str, list[float]] = {"ids": [], "numbers": []}
            headers = {"content-type": "application/json"}
            for turn in range(options.rounds + 1):
                for name, sent in bodies.items():
                    start = time.perf_counter()
                    for n in range(options.requests):
                        body = sent[n % len(sent)]
                        client.post(f"/v1/{name}/rank", content=body, headers=headers)
                    if turn:  # the first turn is for warming up
                        times[name].append((time.perf_counter() - start) / options.requests)
            live, request = service.loops["ids"].live, _request()
            chosen = ids[:ITEMS]
            matrix = []
            for _ in range(200):
                start = time.perf_counter()
                live.compute(chosen, request, service.loops["ids"].now(), None)
                matrix.append(time.perf_counter() - start)
        service.stop()
    middle = {name: float(np.median(values)) for name, values in times.items()}
    for name, seconds in middle.items():
        print(f"{name}: {1 / seconds:,.0f} requests/s ({1000 * seconds:.2f} ms)")
    print(f"ratio {middle['numbers'] / middle['ids']:.2f}; matrix {1e6 * np.median(matrix):.0f} us")


def _request() -> object:
    from rankloop.features.request import Request

    return Request(user=b"u" * 16, query=b"q" * 16)


if __name__ == "__main__":
    main()
