"""What Prometheus reads: how long requests take, and the state of every loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from rankloop.serving.learning.changes import adaptive_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prometheus_client.core import Metric

    from rankloop.rankers.ensembles.adaptive import Adaptive
    from rankloop.serving.loop import Loop
    from rankloop.serving.shared_metrics import SharedMetrics

_BUCKETS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 4, 8)


class Metrics:
    """Counters of one process.

    Parameters
    ----------
    loops : by name; they are examined at each request

    Attributes
    ----------
    shared : the counters of all processes of this service, if there are several
    """

    shared: SharedMetrics | None = None

    def __init__(self, loops: Mapping[str, Loop]) -> None:
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "rankloop_request_seconds",
            "Time from the first byte of a request to its answer.",
            ["route", "status"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.events = Counter(
            "rankloop_events",
            "Events by status.",
            ["loop", "status"],
            registry=self.registry,
        )
        self.registry.register(_Loops(loops))

    def text(self) -> bytes:
        """Return everything in the format of Prometheus."""
        return generate_latest(self.registry if self.shared is None else self.shared.merge())


class MetricFamily(NamedTuple):
    """Numbers of loops under one name.

    merge : how numbers of several processes become one; all of them follow the same journal, so
        most numbers are the same everywhere, or those of a process that is behind
    values : the values of the labels beside `loop`, and the number
    """

    kind: type[CounterMetricFamily | GaugeMetricFamily]
    name: str
    text: str
    merge: Callable[[Iterable[float]], float]
    values: Callable[[Loop], Iterable[tuple[Any, ...]]]
    labels: tuple[str, ...] = ()


class _Loops:
    def __init__(self, loops: Mapping[str, Loop]) -> None:
        self._loops = loops

    def collect(self) -> Iterator[Metric]:
        for family in FAMILIES:
            labels = ["loop", *family.labels]
            metric = family.kind(f"rankloop_{family.name}", family.text, labels=labels)
            for name, loop in self._loops.items():
                for *words, value in family.values(loop):
                    metric.add_metric([name, *words], float(value))
            yield metric


def _catalogue(loop: Loop) -> Iterator[tuple[str, int]]:
    if loop.live.features is not None:
        numbers = loop.live.statistics()
        yield "items", numbers["items"]
        yield "users", numbers["users"]
        yield "keys", sum(counter["keys"] for counter in numbers["counters"].values())


def _missing(loop: Loop) -> Iterator[tuple[str, float]]:
    features = loop.live.features
    if features is not None:
        for column in loop.live.recent.columns(features.definitions.columns):
            yield column.name, column.missing


def _unknown(loop: Loop) -> Iterator[tuple[int]]:
    if loop.live.features is not None:
        yield (loop.live.recent.unknown,)


def _evicted(loop: Loop) -> Iterator[tuple[int]]:
    if loop.live.features is not None:
        counters = loop.live.statistics()["counters"].values()
        yield (sum(counter["evicted"] for counter in counters),)


def _quality(loop: Loop) -> Iterator[tuple[str, str, float]]:
    now = loop.published
    for model, curve in now.curves.items():
        yield model, str(model == now.champion).lower(), curve.recent


def _adapting(loop: Loop) -> Iterator[tuple[str, Adaptive]]:
    for name, model in loop.published.models.items():
        adaptive = adaptive_part(model)
        if adaptive is not None:
            yield name, adaptive


def _changes(loop: Loop) -> Iterator[tuple[str, int]]:
    changes = loop.published.changes
    return ((name, changes[name].count) for name, _ in _adapting(loop))


_COUNTER, _GAUGE = CounterMetricFamily, GaugeMetricFamily
FAMILIES = (
    MetricFamily(
        _GAUGE,
        "position",
        "Position of the last entry that is durable.",
        max,
        lambda loop: [(loop.head,)],
    ),
    MetricFamily(
        _GAUGE,
        "lag",
        "Entries that are durable, but not yet learnt from.",
        max,
        lambda loop: [(loop.lag,)],
    ),
    MetricFamily(
        _GAUGE, "waiting", "Entries that wait for the disk.", sum, lambda loop: [(loop.waiting,)]
    ),
    MetricFamily(
        _GAUGE,
        "open_rankings",
        "Rankings that wait for feedback.",
        max,
        lambda loop: [(loop.open_rankings,)],
    ),
    MetricFamily(_GAUGE, "ready", "Whether the loop answers.", min, lambda loop: [(loop.ready,)]),
    MetricFamily(
        _GAUGE,
        "leads",
        "Whether this service closes windows.",
        max,
        lambda loop: [(loop.leads,)],
    ),
    MetricFamily(
        _GAUGE,
        "catalogue",
        "Items and users with fields, and keys of counters of features.",
        max,
        _catalogue,
        ("kind",),
    ),
    MetricFamily(
        _GAUGE,
        "feature_missing",
        "The share of missing values of a feature in recent rankings.",
        max,
        _missing,
        ("feature",),
    ),
    MetricFamily(_COUNTER, "unknown_items", "Ranked items without fields.", sum, _unknown),
    MetricFamily(_COUNTER, "evicted_keys", "Keys of counters that had to go.", max, _evicted),
    MetricFamily(
        _GAUGE,
        "recent_ndcg",
        "Recent mean nDCG@10 on feedback, before learning from it.",
        max,
        _quality,
        ("model", "champion"),
    ),
    MetricFamily(
        _GAUGE,
        "memory",
        "How many queries the rankings of a model that adapts rest on.",
        max,
        lambda loop: ((name, adaptive.memory_) for name, adaptive in _adapting(loop)),
        ("model",),
    ),
    MetricFamily(
        _COUNTER,
        "changes",
        "Changes of people or items that a model noticed.",
        max,
        _changes,
        ("model",),
    ),
    MetricFamily(
        _GAUGE,
        "error_budget_spent",
        "Error budget that experiments have used, as a share of alpha.",
        max,
        lambda loop: [(loop.published.experiments.spent / loop.published.settings.alpha,)],
    ),
    MetricFamily(_COUNTER, "commits", "Transactions.", sum, lambda loop: [(loop.commits,)]),
    MetricFamily(
        _COUNTER,
        "examples",
        "Rankings that were learnt from.",
        max,
        lambda loop: [(loop.published.totals.examples,)],
    ),
    MetricFamily(
        _COUNTER,
        "experiments",
        "Experiments that were started, including holdbacks.",
        max,
        lambda loop: [(loop.published.experiments.started,)],
    ),
    MetricFamily(
        _COUNTER,
        "failed",
        "Entries, examples and models that failed, and were left out.",
        max,
        lambda loop: [(loop.published.totals.failed,)],
    ),
    MetricFamily(
        _COUNTER,
        "promotions",
        "How often a model became champion.",
        max,
        lambda loop: [(loop.published.experiments.promotions,)],
    ),
    MetricFamily(
        _COUNTER,
        "rollbacks",
        "How often a champion proved worse, and the previous one was restored.",
        max,
        lambda loop: [(loop.published.experiments.rollbacks,)],
    ),
)
