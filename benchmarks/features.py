"""What live features are worth: MovieLens events, one pass, nDCG@10.

python benchmarks/features.py EVENTS.jsonl [RANKER ...]
"""

from __future__ import annotations

import sys
import time

import rankloop as rl
from rankloop.feedback.grading import GradingRule
from rankloop.rankers.registry import make_ranker
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
GROUPS = {
    "fields": OF_FIELDS,
    "with counters": OF_FIELDS | COUNTERS,
    "with taste": OF_FIELDS | COUNTERS | TASTE,
}


def one_pass(text: str, data: rl.QueryDataset) -> list[float]:
    """Rank each query before learning from it, in order of time."""
    measure, ranker = rl.nDCG @ 10, Described(make_ranker(text), description=data.features)
    quality = []
    for q in range(data.n_queries):
        query = data.select(slice(q, q + 1))
        try:
            scores = ranker.predict(query)
        except rl.exceptions.NotFittedError:
            scores = query.X[:, 0] * 0
        quality.append(rl.evaluate(query, scores, measure)["nDCG@10"])
        ranker.partial_fit(query)
    return quality


def main() -> None:
    path, *rankers = sys.argv[1:]
    for name, features in GROUPS.items():
        start = time.process_time()
        data = rl.compute_features(path, features=features, fields=FIELDS, feedback=STARS)
        took = time.process_time() - start
        print(f"{name}: {data}, {took:.1f} s", flush=True)
        for text in rankers or ["auto"]:
            start = time.process_time()
            quality = one_pass(text, data)
            known = [value for value in quality if value == value]
            print(
                f"  {text}: {sum(known) / len(known):.4f} on {len(known)} rankings, "
                f"{time.process_time() - start:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
