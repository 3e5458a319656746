"""Tasks on a cluster: submit them, wait for them, and turn what goes wrong into clear errors."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from rankloop.distributed.cluster import dask
from rankloop.distributed.progress import PartsCounter
from rankloop.exceptions import DataError, RankloopError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import TypeVar

    from distributed import Future

    from rankloop.distributed.progress import OnProgress

    T = TypeVar("T")


class MachineLostError(Exception):
    """One of several machines was lost, so all of them must start again."""


def submit(client: Any, function: Callable[..., T], *given: object, **where: object) -> Future[T]:
    """Submit a task and return its future.

    Tasks are functions of their arguments. If a worker is lost, Dask computes its results again on
    another one, with the same values.
    """
    name = f"rankloop-{function.__name__.strip('_')}-{uuid.uuid4().hex}"
    future: Future[T] = client.submit(function, *given, key=name, **where)
    return future


def gather_results(
    client: Any,
    futures: Sequence[Future[T]],
    names: Sequence[str],
    what: str = "computing",
    on_progress: OnProgress | None = None,
    on_result: Callable[[int, T], None] | None = None,
) -> list[T]:
    """Wait for all futures and return their results in order; an error names the part.

    `on_result` gets the number and the result of each future as soon as it is done.
    """
    distributed = dask()
    counter = PartsCounter(what, len(futures), on_progress)
    order = {future.key: k for k, future in enumerate(futures)}
    try:
        for future in distributed.as_completed(futures):
            k = order[future.key]
            if future.status != "finished":
                raise explain_failure(distributed, names[k], future)
            counter.tick()
            if on_result is not None:
                on_result(k, future.result())
        results: list[T] = client.gather(list(futures))
    except (OSError, distributed.CancelledError) as error:
        raise DataError(
            f"the connection to the Dask scheduler was lost ({error}); start the job again when it "
            "is back"
        ) from None
    return results


def explain_failure(distributed: ModuleType, part: str, future: Any) -> Exception:
    """Return the error of a failed task, with the name of its part and what to do."""
    error = future.exception() if future.status == "error" else None
    if isinstance(error, distributed.scheduler.KilledWorker):
        return DataError(
            f"{part}: {len(error.workers) if hasattr(error, 'workers') else 'several'} workers "
            "ended while they had this part; it may not fit into their memory: use smaller parts, "
            "or workers with more memory"
        )
    if isinstance(error, MachineLostError):
        return error
    if isinstance(error, RankloopError):
        message = str(error)
        return error if part in message else DataError(f"{part}: {message}")
    if isinstance(error, MemoryError):
        return DataError(f"{part}: there is not enough memory; use smaller parts")
    if error is None:
        return DataError(f"{part}: the task was cancelled, because the cluster was closed")
    return DataError(f"{part}: {type(error).__name__}: {error}")
