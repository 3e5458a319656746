"""One `/metrics` for all processes of a service, whichever of them answers.

Each process writes its numbers into a file of its own, once a second. What a process has counted
stays after its end, so that totals never fall; its other numbers do not.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from rankloop.serving.metrics import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_EVERY = 1.0  # seconds


class _Family(msgspec.Struct):
    name: str
    text: str
    kind: str
    samples: list[tuple[str, dict[str, str], float]]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[_Family])
_merges = {f"rankloop_{family.name}": family.merge for family in FAMILIES}


class SharedMetrics:
    """The numbers of this process and of the others, which share a folder.

    Parameters
    ----------
    folder : of one run of the service
    registry : the numbers of this process
    process : its id
    """

    def __init__(
        self, folder: str, registry: CollectorRegistry, process: int | None = None
    ) -> None:
        self._folder, self._registry = Path(folder), registry
        self._process = os.getpid() if process is None else process
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._writer = threading.Thread(target=self._run, name="metrics", daemon=True)

    def start(self) -> None:
        """Write the numbers of this process again and again."""
        self.write()
        self._writer.start()

    def stop(self) -> None:
        """Write the last numbers."""
        self._over.set()
        self._writer.join()
        self.write()

    def write(self) -> None:
        """Write the numbers of this process; readers see the old ones or the new ones."""
        with self._lock:
            families = [
                _Family(
                    metric.name,
                    metric.documentation,
                    metric.type,
                    [(sample.name, sample.labels, sample.value) for sample in metric.samples],
                )
                for metric in self._registry.collect()
            ]
            path = self._folder / f"{self._process}.metrics"
            new = path.with_suffix(".new")
            new.write_bytes(_encoder.encode(families))
            new.replace(path)

    def merge(self) -> CollectorRegistry:
        """Return the numbers of all processes, those of this one as they are now."""
        self.write()
        registry = CollectorRegistry()
        registry.register(_Merged(self._folder))
        return registry

    def _run(self) -> None:
        while not self._over.wait(_EVERY):
            self.write()


class _Merged:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        merged: dict[str, Metric] = {}
        values: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[float]] = {}
        for path in sorted(self._folder.glob("*.metrics")):
            lives = _lives(int(path.stem))
            for family in _decoder.decode(path.read_bytes()):
                if not lives and family.kind == "gauge":
                    continue
                merged.setdefault(family.name, Metric(family.name, family.text, family.kind))
                for sample, labels, value in family.samples:
                    key = family.name, sample, tuple(labels.items())
                    values.setdefault(key, []).append(value)
        for (name, sample, pairs), found in values.items():
            merged[name].add_sample(sample, dict(pairs), _merge(name, sample)(found))
        yield from merged.values()


def _merge(family: str, sample: str) -> Callable[[Iterable[float]], float]:
    """Return how to merge; what each process counts for itself is added up."""
    return min if sample.endswith("_created") else _merges.get(family, sum)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
