"""A worker that stands still: the job waits for it, or does without it when Dask gives it up.

No clock decides: what happens to the worker happens when the job has work that needs it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from threading import Thread

import pytest

import rankloop as rl
from rankloop.distributed import Parts, connect, fit

from .conftest import dealt, until


@pytest.fixture
def own():
    """A cluster for one test, which need not get back the worker that it loses."""
    with connect("local:2") as client:
        yield client


class StandStill:
    """Stops the worker that holds most parts, and does something to it when the job needs it.

    From then on, every step of the job needs the parts that this worker holds.
    """

    def __init__(self, client, then):
        self.client, self.then, self.needed = client, then, False
        self.old = {key for keys in client.has_what().values() for key in keys}

    def __call__(self, _):
        if hasattr(self, "thread"):
            return
        held = {place: self.parts_at(place) for place in self.client.nthreads()}
        self.slow = max(held, key=held.__getitem__)
        assert held[self.slow]
        self.pid = self.client.run(os.getpid, workers=[self.slow])[self.slow]
        os.kill(self.pid, signal.SIGSTOP)
        self.thread = Thread(target=self.wait)
        self.thread.start()

    def parts_at(self, place):
        keys = set(self.client.has_what()[place]) - self.old
        return sum(str(key).startswith("rankloop-apply") for key in keys)

    def wait(self):
        try:
            self.needed = until(lambda: any(self.client.processing().values()))
            self.then(self)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def give_up(self):
        """What the scheduler does when it has not heard of a worker for five minutes."""
        self.client.run_on_scheduler(_give_up, self.slow)
        assert until(lambda: self.slow not in self.client.nthreads())

    def check(self):
        self.thread.join()
        assert self.needed
        given_up = self.then is StandStill.give_up
        assert given_up == (self.pid not in self.client.run(os.getpid).values())


async def _give_up(address, dask_scheduler):
    dask_scheduler.workers[address].last_seen = 0
    await dask_scheduler.check_worker_ttl()


@pytest.mark.slow
@pytest.mark.parametrize("then", [StandStill.go_on, StandStill.give_up])
def test_linear_rankers_do_not_mind_a_slow_worker(then, own, data):
    parts = Parts(own, dealt(data))
    expected = fit(rl.XENDCG(), parts).digest()
    standing = StandStill(own, then)
    assert fit(rl.XENDCG(), parts, on_round=standing).digest() == expected
    standing.check()


@pytest.mark.slow
@pytest.mark.parametrize("then", [StandStill.go_on, StandStill.give_up])
def test_online_rankers_do_not_mind_a_slow_worker(then, own, data):
    parts = Parts(own, dealt(data))
    expected = fit(rl.Slam(), parts, mix_every=5).digest()
    standing = StandStill(own, then)

    def after_a_mix(done):
        if done.what == "mixing":
            standing(done)

    assert fit(rl.Slam(), parts, mix_every=5, on_progress=after_a_mix).digest() == expected
    standing.check()
