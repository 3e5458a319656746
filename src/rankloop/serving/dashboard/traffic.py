"""Requests per second, and how long they take, from the counters that Prometheus reads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.serving.metrics import Metrics

RANKING = "POST /v1/{loop}/rank"
_WORK = ("POST /v1/", "POST /ubi/")


class TrafficTotals(NamedTuple):
    """Requests of this process so far.

    requests, refused, failed : all, those answered 4xx, those answered 5xx
    bounds, below : limits in seconds, and how many answered rankings took at most that long
    """

    requests: float
    refused: float
    failed: float
    bounds: tuple[float, ...]
    below: tuple[float, ...]


def measure_traffic(metrics: Metrics) -> TrafficTotals:
    """Return the totals of this process; requests of the dashboard itself do not count."""
    counts = {"2": 0.0, "4": 0.0, "5": 0.0}
    below: dict[float, float] = {}
    for family in metrics.seconds.collect():
        for sample in family.samples:
            route, status = sample.labels.get("route", ""), sample.labels.get("status", "")
            if sample.name.endswith("_count") and route.startswith(_WORK):
                counts[status[:1]] = counts.get(status[:1], 0.0) + sample.value
            elif sample.name.endswith("_bucket") and route == RANKING and status == "200":
                bound = float(sample.labels["le"])
                below[bound] = below.get(bound, 0.0) + sample.value
    bounds = tuple(sorted(below))
    return TrafficTotals(
        sum(counts.values()),
        counts["4"],
        counts["5"],
        bounds,
        tuple(below[bound] for bound in bounds),
    )


def quantile(bounds: Sequence[float], counts: Sequence[float], share: float) -> float | None:
    """Return the time within which this share of requests was answered; None if there were none.

    Within a bucket, times are taken to be spread evenly.

    Parameters
    ----------
    bounds : upper ends of buckets in seconds, rising; the last may be infinite
    counts : how many requests took at most that long
    share : from 0 to 1

    Examples
    --------
    >>> quantile([0.001, 0.002, float("inf")], [50, 100, 100], 0.75)
    0.0015
    """
    if not counts or counts[-1] <= 0:
        return None
    wanted, low, before = share * counts[-1], 0.0, 0.0
    for bound, count in zip(bounds, counts, strict=True):
        if count >= wanted and count > before:
            if math.isinf(bound):
                return low
            return low + (bound - low) * (wanted - before) / (count - before)
        low, before = bound, count
    return low


def times_between(
    old: TrafficTotals | None, new: TrafficTotals
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the buckets of the rankings that were answered between two moments."""
    before = dict(zip(old.bounds, old.below, strict=True)) if old is not None else {}
    counts = tuple(
        count - before.get(bound, 0.0) for bound, count in zip(new.bounds, new.below, strict=True)
    )
    return new.bounds, counts
