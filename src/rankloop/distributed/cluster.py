"""Connect to a Dask cluster, or start one on this machine."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rankloop.exceptions import DataError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


_LOCAL = re.compile(r"local:([1-9]\d{0,3})")
_ADDRESS = re.compile(r"([a-z]+://)?(?!local:)[^\s:/]+:\d{1,5}")
_PATIENCE = "20s"


def dask() -> ModuleType:
    """Import `distributed`, or say what to install."""
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("distributed", "dask", "using a cluster") from None
    module: ModuleType = distributed
    return module


def check_cluster(text: str) -> None:
    """Raise unless this is `local:N` or an address."""
    if not _LOCAL.fullmatch(text) and not _ADDRESS.fullmatch(text):
        raise DataError(
            "cluster must be local:N, with N worker processes, or the address of a Dask scheduler, "
            f"such as tcp://10.0.0.1:8786; found {text!r}"
        )


@contextmanager
def connect(cluster: object) -> Iterator[Any]:
    """Yield a client of a cluster, and close at the end what was opened here.

    Parameters
    ----------
    cluster : `local:4` starts four worker processes on this machine; an address such as
        `tcp://10.0.0.1:8786` is that of a running scheduler; a `distributed.Client` is used as it
        is. In a script, `local:4` belongs below `if __name__ == "__main__":`, because every
        process imports the script.
    """
    distributed = dask()
    if isinstance(cluster, distributed.Client):
        yield cluster
        return
    local = _LOCAL.fullmatch(str(cluster))
    if local is not None:
        with (
            distributed.LocalCluster(
                n_workers=int(local[1]),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # any free port
                silence_logs=logging.CRITICAL,
            ) as started,
            distributed.Client(started) as client,
        ):
            yield client
        return
    check_cluster(str(cluster))
    try:
        client = distributed.Client(str(cluster), timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise DataError(
            f"no Dask scheduler answers at {cluster} ({error}); start one with `dask scheduler`, "
            "and workers with `dask worker`"
        ) from None
    with client:
        yield client


def workers(client: Any) -> list[str]:
    """Return the sorted addresses of the workers; wait for the first one, as all tasks do."""
    if not client.nthreads():
        client.wait_for_workers(1)
    return sorted(client.nthreads())
