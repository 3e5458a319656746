"""What Prometheus reads: how long requests take, and the state of every loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from rankloop.serving.learning.changes import adaptive_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prometheus_client.core import Metric

    from rankloop.serving.loop import Loop

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
        memory = GaugeMetricFamily(
            "rankloop_memory",
            "How many queries the rankings of a model that adapts rest on.",
            labels=["loop", "model"],
        )
        changes = CounterMetricFamily(
            "rankloop_changes",
            "Changes of people or items that a model noticed.",
            labels=["loop", "model"],
        )
        counters = {
            "commits": "Transactions.",
            "examples": "Rankings that were learnt from.",
            "experiments": "Experiments that were started, including holdbacks.",
            "failed": "Entries, examples and models that failed, and were left out.",
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
        catalogue = GaugeMetricFamily(
            "rankloop_catalogue",
            "Items and users with fields, and keys of counters of features.",
            labels=["loop", "kind"],
        )
        missing = GaugeMetricFamily(
            "rankloop_feature_missing",
            "The share of missing values of a feature in recent rankings.",
            labels=["loop", "feature"],
        )
        unknown = CounterMetricFamily(
            "rankloop_unknown_items", "Ranked items without fields.", labels=["loop"]
        )
        evicted = CounterMetricFamily(
            "rankloop_evicted_keys", "Keys of counters that had to go.", labels=["loop"]
        )
        for name, loop in self._loops.items():
            features = loop.live.features
            if features is not None:
                found = loop.live.statistics()
                sums = found["counters"].values()
                catalogue.add_metric([name, "items"], found["items"])
                catalogue.add_metric([name, "users"], found["users"])
                catalogue.add_metric([name, "keys"], sum(c["keys"] for c in sums))
                evicted.add_metric([name], sum(c["evicted"] for c in sums))
                unknown.add_metric([name], loop.live.recent.unknown)
                for column in loop.live.recent.columns(features.definitions.columns):
                    missing.add_metric([name, column.name], column.missing)
            values = (loop.head, loop.lag, loop.waiting, loop.open_rankings, loop.ready, loop.leads)
            for family, value in zip(families.values(), values, strict=True):
                family.add_metric([name], float(value))
            now, experiments = loop.published, loop.published.experiments
            totals = (
                loop.commits,
                now.totals.examples,
                experiments.started,
                now.totals.failed,
                experiments.promotions,
                experiments.rollbacks,
            )
            for counter, total in zip(counted.values(), totals, strict=True):
                counter.add_metric([name], total)
            spent.add_metric([name], experiments.spent / now.settings.alpha)
            champion = now.champion
            for model, curve in loop.published.curves.items():
                quality.add_metric([name, model, str(model == champion).lower()], curve.recent)
                adaptive = adaptive_part(now.models[model])
                if adaptive is not None:
                    memory.add_metric([name, model], adaptive.memory_)
                    changes.add_metric([name, model], now.changes[model].count)
        yield from families.values()
        yield from (catalogue, missing, unknown, evicted)
        yield quality
        yield memory
        yield changes
        yield spent
        yield from counted.values()
