"""What live features are worth: MovieLens events, one pass, nDCG@10.

`python -m benchmarks.features EVENTS.jsonl [RANKER ...]`; with `--batch`, rankers are trained on
the first four fifths of the rankings instead, and measured on the others.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import rankloop as rl
from rankloop.features.event_log import EventReader
from rankloop.features.events import ItemEvent
from rankloop.feedback.event_files import read_events
from rankloop.feedback.grading import GradingRule
from rankloop.rankers.registry import make_ranker
from rankloop.rankers.training import describe_if_needed
from rankloop.rankers.wrappers.described import Described

STARS = {"rating": GradingRule(1.0, steps=(3.0, 4.0, 5.0))}
FIELDS = {"item": {"title": "text", "genres": "categories", "year": "number", "decade": "category"}}
OF_FIELDS = {
    "genres": {"categories": "item.genres", "limit": 20, "buckets": 1},
    "year": {"number": "item.year"},
    "words": {"words": "item.title"},
}
COUNTERS = {
    "rating": {"mean": "rating", "prior": 5},
    "lately": {"mean": "rating", "half_life": "365d", "prior": 5},
    "rated": {"count": "rating"},
    "shown": {"count": "impression"},
    "genre_rating": {"mean": "rating", "per": "item.genres", "prior": 20},
}
TASTE = {
    "taste": {"affinity": "item.genres", "to": "rating", "by": "mean", "prior": 3},
    "session_taste": {
        "affinity": "item.genres", "to": "rating", "by": "mean", "per": "session", "prior": 3,
    },
}  # fmt: skip
IN_THE_LIST = {
    f"{name} in the list": {"relative": name, "by": "rank"}
    for name in ("rating", "taste", "shown", "rated")
}
LIKED = {"to": "rating", "by": "mean", "prior": 3}
DECADES = {
    "decades": {"affinity": "item.decade", **LIKED},
    "session_decades": {"affinity": "item.decade", "per": "session", **LIKED},
}
GROUPS = {
    "fields": OF_FIELDS,
    "with counters": OF_FIELDS | COUNTERS,
    "with taste": OF_FIELDS | COUNTERS | TASTE,
    "with places in the list": OF_FIELDS | COUNTERS | TASTE | IN_THE_LIST,
    "with taste of decades": OF_FIELDS | COUNTERS | TASTE | IN_THE_LIST | DECADES,
}
BATCH = ("auto", "newton", "xendcg", "lambdamart", "blend")


def write_decades(path: str, folder: str) -> str:
    """Write a catalogue with the decade of each movie, which the log lacks, and return its path."""
    items, reader = f"{folder}/decades.jsonl", EventReader(None)
    with Path(items).open("w") as file:
        for event in read_events(path, reader):
            year = event.change.fields.get("year") if isinstance(event, ItemEvent) else None
            if year is not None:
                row = {"id": event.change.id, "decade": f"{int(year) // 10 * 10}s"}
                file.write(json.dumps(row) + "\n")
    return items


def one_pass(text: str, data: rl.QueryDataset) -> list[float]:
    """Rank each query before learning from it, in order of time."""
    measure, ranker = rl.nDCG @ 10, Described(make_ranker(text), description=data.features)
    quality = []
    for q in range(data.n_queries):
        query = data.select(slice(q, q + 1))
        try:
            scores = ranker.predict(query)
        except rl.exceptions.NotFittedError:
            scores = np.zeros(query.n_documents)
        quality.append(rl.evaluate(query, scores, measure)["nDCG@10"])
        ranker.partial_fit(query)
    return quality


def batch(text: str, data: rl.QueryDataset) -> float:
    """Train on the first rankings, and return the mean on the last ones."""
    first = len(data) * 4 // 5
    train, test = data.select(slice(0, first)), data.select(slice(first, len(data)))
    ranker = describe_if_needed(make_ranker(text), train).fit(train)
    return rl.evaluate(test, ranker.predict(test), "nDCG@10")["nDCG@10"]


def main() -> None:
    """Measure and print."""
    path, *rankers = (word for word in sys.argv[1:] if word != "--batch")
    with tempfile.TemporaryDirectory() as folder:
        measure(path, rankers, write_decades(path, folder))


def measure(path: str, rankers: list[str], items: str) -> None:
    """Measure each group of features."""
    for name, features in GROUPS.items():
        start = time.process_time()
        data = rl.compute_features(
            path, features=features, fields=FIELDS, feedback=STARS, items=items
        )
        took = time.process_time() - start
        print(f"{name}: {data}, {took:.1f} s", flush=True)
        if "--batch" in sys.argv:
            for text in rankers or BATCH:
                start = time.process_time()
                mean = batch(text, data)
                print(f"  {text}: {mean:.4f}, {time.process_time() - start:.0f} s", flush=True)
            continue
        for text in rankers or ["auto"]:
            start = time.process_time()
            quality = one_pass(text, data)
            known = [value for value in quality if value == value]
            print(
                f"  {text}: {sum(known) / len(known):.4f} on {len(known)} rankings, halves "
                f"{np.nanmean(quality[: len(data) // 2]):.4f} and "
                f"{np.nanmean(quality[len(data) // 2 :]):.4f}, "
                f"{time.process_time() - start:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
