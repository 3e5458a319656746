"""What Prometheus reads: how long requests take, and the state of every loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prometheus_client.core import Metric

    from rankloop.serving.service import Loop

_BUCKETS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 4, 8)


class Metrics:
    """Counters of one process.

    Parameters
    ----------
    loops : by name; they are examined at each request
    """

    def __init__(self, loops: Mapping[str, Loop]) -> None:
        self._registry = CollectorRegistry()
        self.seconds = Histogram(
            "rankloop_request_seconds",
            "Time from the first byte of a request to its answer.",
            ["route", "status"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self.events = Counter(
            "rankloop_events",
            "Events by status.",
            ["loop", "status"],
            registry=self._registry,
        )
        self._registry.register(_Loops(loops))

    def text(self) -> bytes:
        """Return everything in the format of Prometheus."""
        return generate_latest(self._registry)


class _Loops:
    def __init__(self, loops: Mapping[str, Loop]) -> None:
        self._loops = loops

    def collect(self) -> Iterator[Metric]:
        gauges = {
            "position": "Position of the last entry that is durable.",
            "lag": "Entries that are durable, but not yet learnt from.",
            "waiting": "Entries that wait for the disk.",
            "open_rankings": "Rankings that wait for feedback.",
            "ready": "Whether the loop answers.",
            "leads": "Whether this process closes windows.",
        }
        families = {
            name: GaugeMetricFamily(f"rankloop_{name}", text, labels=["loop"])
            for name, text in gauges.items()
        }
        quality = GaugeMetricFamily(
            "rankloop_recent_ndcg",
            "Recent mean nDCG@10 on feedback, before learning from it.",
            labels=["loop", "model", "champion"],
        )
        counters = {
            "commits": "Transactions.",
            "examples": "Rankings that were learnt from.",
            "experiments": "Experiments that were started, including watches of champions.",
            "promotions": "How often a model became champion.",
            "rollbacks": "How often a champion proved worse, and the previous one was restored.",
        }
        counted = {
            name: CounterMetricFamily(f"rankloop_{name}", text, labels=["loop"])
            for name, text in counters.items()
        }
        spent = GaugeMetricFamily(
            "rankloop_error_budget_spent",
            "Error budget that experiments have used, as a share of alpha.",
            labels=["loop"],
        )
        for name, loop in self._loops.items():
            values = (loop.head, loop.lag, loop.waiting, loop.open_rankings, loop.ready, loop.leads)
            for family, value in zip(families.values(), values, strict=True):
                family.add_metric([name], float(value))
            now, contest = loop.published, loop.published.contest
            totals = (
                loop.commits,
                now.counters.examples,
                contest.experiments,
                contest.promotions,
                contest.rollbacks,
            )
            for counter, total in zip(counted.values(), totals, strict=True):
                counter.add_metric([name], total)
            spent.add_metric([name], contest.spent / now.settings.alpha)
            champion = now.champion
            for model, curve in loop.published.curves.items():
                quality.add_metric([name, model, str(model == champion).lower()], curve.recent)
        yield from families.values()
        yield quality
        yield spent
        yield from counted.values()
