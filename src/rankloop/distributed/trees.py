"""Boosted trees on a cluster: LightGBM's data-parallel ranker, which we start on the workers.

Parts are dealt to a number of *machines*: processes that grow the same trees together. Usually
there is one on each worker; if a worker was lost and none took its place, another worker has two.
The trees depend on the parts and on the number of machines, because LightGBM finds bins and adds up
histograms by machine. They do not depend on where the machines are.
"""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from rankloop.distributed import tree_machine
from rankloop.distributed.calling import MachineLostError, explain_failure, submit
from rankloop.distributed.cluster import dask, workers
from rankloop.distributed.progress import PartsCounter
from rankloop.distributed.summary import check_summaries
from rankloop.exceptions import DataError
from rankloop.rankers.model_files.saving import loads
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.rounds import Round

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from distributed import Future

    from rankloop.data.dataset import QueryDataset
    from rankloop.distributed.parts import Parts
    from rankloop.distributed.progress import OnProgress
    from rankloop.distributed.tree_machine import LoadedPart
    from rankloop.rankers.boosting.base import BoostedRanker

    T = TypeVar("T")

_MAX_STARTS = 20
_LOOK_EVERY, _FETCHING = 0.2, 10.0  # seconds


def fit_trees(
    ranker: BoostedRanker,
    parts: Parts,
    machines: int | None = None,
    *,
    valid: QueryDataset | None = None,
    on_round: Callable[[Round], None] | None = None,
    on_progress: OnProgress | None = None,
) -> None:
    """Fit boosted trees; after a worker was lost, start again from the first round.

    Every machine has the whole validation data, so that all stop at the same round. Disk: a machine
    writes its rows to a temporary mapped file. Memory of a machine: one byte per value, and the
    validation data.
    """
    at_most = min(len(parts), len(workers(parts.client)))
    count = at_most if machines is None else machines
    check_whole("machines", count)
    if count > len(parts):
        raise DataError(
            f"{count} machines cannot share {len(parts)} parts; use more parts, or fewer machines"
        )
    _refuse_several_models(ranker)
    job = _Job(parts, count, ranker, valid, on_round, on_progress)
    for _ in range(_MAX_STARTS):
        try:
            job.run()
        except MachineLostError as error:
            lost = error
        else:
            return
    raise DataError(
        f"growing trees was started {_MAX_STARTS} times, and each time a machine was lost; the "
        f"last time: {lost}"
    )


def _refuse_several_models(ranker: BoostedRanker) -> None:
    if str(getattr(ranker, "gamma", "")).startswith("best-of"):
        raise DataError("gamma='best-of-...' grows several models; on a cluster, use gamma=random")


@dataclass
class _Job:
    parts: Parts
    machines: int
    ranker: BoostedRanker
    valid: QueryDataset | None
    on_round: Callable[[Round], None] | None
    on_progress: OnProgress | None

    def run(self) -> None:
        """Grow all trees once, on the workers that are connected now."""
        client, self.name = self.parts.client, f"rankloop-{uuid.uuid4().hex}"
        self._heard: SimpleQueue[dict[str, Any]] = SimpleQueue()
        # The number of machines stays, because the trees depend on it: if workers were lost, those
        # that remain get several machines.
        there = workers(client)
        self.places = [there[k % len(there)] for k in range(self.machines)]
        client.subscribe_topic(self.name, lambda event: self._heard.put(event[1]))
        try:
            prepared = self._prepare()
            model = loads(self._grow(prepared)[0])
        finally:
            client.unsubscribe_topic(self.name)
            client.run(tree_machine.stop, self.name, on_error="ignore")
        n_queries = sum(machine.summary.n_queries for machine in prepared)
        self.ranker._restore({**model._state(), "n_queries_seen_": n_queries})

    def _prepare(self) -> list[LoadedPart]:
        """Let each machine write its rows to a file, and check that all have the same columns."""
        cuts = np.linspace(0, len(self.parts), self.machines + 1).round().astype(int).tolist()
        futures = [
            self.parts.submit_together(
                tree_machine.prepare, range(a, b), self.name, self.ranker, workers=[place]
            )
            for a, b, place in zip(cuts, cuts[1:], self.places, strict=False)
        ]
        prepared: list[LoadedPart] = self._results(futures, "loading")
        check_summaries([machine.summary for machine in prepared], self._machine_names())
        empty = next((k for k, machine in enumerate(prepared) if not machine.n_usable), None)
        if empty is not None:
            raise DataError(
                f"{self._machine_names()[empty]} has no query with two different grades, so it has "
                "nothing to learn from; use fewer machines, or deal the queries to parts in "
                "another way"
            )
        return prepared

    def _grow(self, prepared: list[LoadedPart]) -> list[bytes]:
        """Choose a port for each machine, start them all, and return their equal models."""
        client, places = self.parts.client, list(dict.fromkeys(self.places))
        asked = [
            submit(client, tree_machine.free_ports, self.places.count(place), workers=[place])
            for place in places
        ]
        free = dict(zip(places, self._results(asked, "connecting"), strict=True))
        ports = [free[place].pop() for place in self.places]
        hosts = [urlsplit(place).hostname for place in self.places]
        network = ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=True))
        chosen = self.ranker.sizes_for(sum(machine.n_usable for machine in prepared))
        native = all(machine.native for machine in prepared)
        futures = [
            submit(
                client,
                tree_machine.grow,
                tree_machine.Machine(self.name, machine.folder, k, port, network, self.machines),
                self.ranker,
                chosen,
                native,
                self.valid,
                workers=[place],
            )
            for k, (machine, port, place) in enumerate(
                zip(prepared, ports, self.places, strict=True)
            )
        ]
        return self._results(futures, "growing")

    def _results(self, futures: list[Future[T]], what: str) -> list[T]:
        """Wait for all machines; raise as soon as one is lost, because the others wait for it."""
        distributed = dask()
        counter = PartsCounter(what, len(futures), self.on_progress)
        results: dict[int, T] = {}
        while len(results) < len(futures):
            waiting = [k for k in range(len(futures)) if k not in results]
            with contextlib.suppress(TimeoutError):
                distributed.wait(
                    [futures[k] for k in waiting], _LOOK_EVERY, return_when="FIRST_COMPLETED"
                )
            for k in waiting:
                if futures[k].status in ("error", "cancelled"):
                    raise explain_failure(distributed, self._machine_names()[k], futures[k])
                if futures[k].status == "finished":
                    with contextlib.suppress(TimeoutError):  # its worker may be lost by now
                        results[k] = futures[k].result(timeout=_FETCHING)
                        counter.tick()
            self._tell_rounds()
            gone = set(self.places) - set(self.parts.client.nthreads())
            if gone and len(results) < len(futures):
                raise MachineLostError(f"the worker {min(gone)} was lost")
        return [results[k] for k in range(len(futures))]

    def _machine_names(self) -> list[str]:
        return [f"machine {k + 1} ({place})" for k, place in enumerate(self.places)]

    def _tell_rounds(self) -> None:
        """Report the rounds so far, in this thread, because the callback may use the cluster."""
        while not self._heard.empty():
            message = self._heard.get()
            if self.on_round is not None:
                self.on_round(Round(**message["round"]))
