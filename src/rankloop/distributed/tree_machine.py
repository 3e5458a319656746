"""One machine that grows trees: a separate process, started by a task on a worker.

LightGBM's machines wait for each other for ever. A separate process can be stopped when another
machine is lost, and it ends automatically when its worker does.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop._utils.processors import threads
from rankloop.data.io.mapped import read_mapped
from rankloop.data.io.mapped_write import write_mapped
from rankloop.distributed.calling import MachineLostError
from rankloop.distributed.cluster import dask
from rankloop.distributed.summary import summarise_part
from rankloop.exceptions import DataError, RankloopError
from rankloop.rankers.batch.base import usable_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.distributed.summary import PartSummary
    from rankloop.rankers.boosting.base import BoostedRanker
    from rankloop.rankers.rounds import Round

_SAYS = "rankloop: "
_MINUTES = 10  # how long LightGBM waits for the other machines to start

_folders: dict[str, set[Path]] = {}
_processes: dict[str, set[subprocess.Popen[bytes]]] = {}


@dataclass(frozen=True)
class LoadedPart:
    """The rows of a machine in a file.

    folder : where the file is, on the worker
    summary : its size and columns
    n_usable : how many rows can be learnt from
    native : whether LightGBM itself can compute the objective on these rows
    """

    folder: str
    summary: PartSummary
    n_usable: int
    native: bool


@dataclass(frozen=True)
class Machine:
    """One of the processes that grow trees together: where its rows are, and who the others are."""

    job: str
    folder: str
    number: int
    port: int
    network: str
    count: int

    @property
    def params(self) -> dict[str, object]:
        """Return the parameters with which LightGBM connects machines; none for a single one."""
        if self.count == 1:
            return {}
        return {
            "machines": self.network,
            "num_machines": self.count,
            "local_listen_port": self.port,
            "time_out": _MINUTES,
            "tree_learner": "data",
            "pre_partition": True,
        }


def prepare(parts: Iterable[QueryDataset], job: str, ranker: BoostedRanker) -> LoadedPart:
    """Write the rows of a machine to a mapped file, in a folder of the worker."""
    folder = Path(tempfile.mkdtemp(prefix="machine-", dir=dask().get_worker().local_directory))
    _folders.setdefault(job, set()).add(folder)
    write_mapped(_check_parts(parts, ranker), folder / "train.rlds")
    data = read_mapped(folder / "train.rlds", doc_ids=False)
    usable = usable_rows(data)
    native = ranker.is_native(data.without_features().keep(usable)) if usable.any() else True
    return LoadedPart(str(folder), summarise_part(data), int(usable.sum()), native)


def _check_parts(parts: Iterable[QueryDataset], ranker: BoostedRanker) -> Iterable[QueryDataset]:
    for part in parts:
        ranker._check_part(part)
        yield part


def free_ports(count: int) -> list[int]:
    """Return ports that no process listens to at the moment."""
    with contextlib.ExitStack() as opened:
        # All are open at the same time, because the system may hand out a closed port again.
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for listener in sockets:
            listener.bind(("", 0))
        return [int(listener.getsockname()[1]) for listener in sockets]


def grow(
    machine: Machine,
    ranker: BoostedRanker,
    chosen: dict[str, object],
    native: bool,
    valid: QueryDataset | None,
) -> bytes:
    """Grow trees together with the other machines, and return the model as the bytes of a file.

    LightGBM runs in a process of its own, because it cannot be interrupted: if another machine is
    lost, it waits for ten minutes, but a process can be killed at once. The task secedes from the
    thread pool of the worker: machines wait for each other, so if two are on one worker with one
    thread, the first would otherwise wait for the second for ever.
    """
    folder, worker = Path(machine.folder), dask().get_worker()
    dask().secede()
    if valid is not None:
        write_mapped(valid, folder / "valid.rlds")
    params = {**(ranker.params or {}), **machine.params}
    given = pickle.dumps((ranker, {**chosen, "params": params}, native, machine.number == 0))
    with (folder / "errors.txt").open("w+b") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "rankloop.distributed.tree_machine", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(),
        )
        _processes.setdefault(machine.job, set()).add(process)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            # If it has ended already, the missing model says so below.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(len(given).to_bytes(8, "little") + given)
                process.stdin.flush()
            for line in process.stdout:
                if line.startswith(_SAYS.encode()):
                    message = json.loads(line[len(_SAYS) :])
                    if "error" in message:
                        raise DataError(message["error"])
                    worker.log_event(machine.job, message)
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        errors.seek(0)
        last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    try:
        return (folder / "model.rlm").read_bytes()
    except OSError:
        raise MachineLostError(f"a process that grew trees ended early {last}") from None


def environment() -> dict[str, str]:
    """Return the environment of a machine, with at least as many threads as its worker has.

    Dask limits the libraries of a worker to one thread, because a worker runs several tasks at
    once; but growing trees is a single task. Several machines may share processors, so threads
    that wait should sleep and not spin.
    """
    used = max(threads(), dask().get_worker().state.nthreads)
    return {"OMP_WAIT_POLICY": "passive", **os.environ, "OMP_NUM_THREADS": str(used)}


def stop(job: str) -> None:
    """Kill the processes of a job on this worker, and remove its files."""
    for process in _processes.pop(job, ()):
        process.kill()
    for folder in _folders.pop(job, ()):
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments: Sequence[str]) -> None:
    """Grow trees in a separate process, which reads its task from standard input."""
    folder = Path(arguments[0])
    stdin = sys.stdin.buffer
    ranker, chosen, native, speaks = pickle.loads(
        stdin.read(int.from_bytes(stdin.read(8), "little"))
    )
    threading.Thread(target=_end_with_the_worker, daemon=True).start()

    def tell(done: Round) -> None:
        if speaks:
            _say({"round": asdict(done)})

    try:
        data = read_mapped(folder / "train.rlds", doc_ids=False)
        valid = folder / "valid.rlds"
        judged = read_mapped(valid) if valid.exists() else None
        ranker.set_params(**chosen)
        ranker.allow_native = native
        ranker.fit(data, valid=judged, on_round=tell)
    except RankloopError as error:
        _say({"error": str(error)})
        return
    ranker.save(folder / "model.rlm")


def _say(message: dict[str, object]) -> None:
    """Write a line for the worker; the prefix tells it from lines that LightGBM prints."""
    sys.stdout.write(f"{_SAYS}{json.dumps(message)}\n")
    sys.stdout.flush()


def _end_with_the_worker() -> None:
    """Exit when the worker ends, even if it was killed: then its end of the pipe is closed.

    `os._exit` is needed, because LightGBM may be waiting for the other machines in another thread.
    """
    sys.stdin.buffer.read()  # returns when the pipe is closed
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
