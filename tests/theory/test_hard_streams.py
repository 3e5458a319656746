"""Every bound of `track` on streams that are made to break it: whole at every moment, no excuse."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from rankloop.data.dataset import QueryDataset
from rankloop.rankers.registry import make_ranker
from rankloop.theory.tracking import track

N = 60
RANKERS = [
    "minimax",
    "minimax:rate=1000",
    *(f"minimax:clip={clip}" for clip in (0, 0.5, 1, 2)),
    "slam:average=False",
    "slam:average=False,clip=0,rate=100",
    "slam:average=False,clip=0,rate=0.001",
    "slam:average=False,clip=1,rate=10",
    "slam:average=False,margin=10,rate=0.1",
    "slam:average=False,within_grade=mean,rate=5",
    "slam:average=False,measure=AP,rate=30",
    "slam:average=False,measure=nDCG@1,rate=30",
    "slam:average=False,measure=nDCG@3,clip=0.5",
    "slam:average=False,measure=nDCG@3,steps_on=loss",
    *(f"solar-i:C={C}" for C in (1e-5, 0.1, 100)),
    *(f"solar-ii:gamma={gamma}" for gamma in (0.01, 0.1, 1, 1e4)),
    "solar-ii:gamma=1,clip=0",
    "solar-ii:gamma=1,clip=0.5",
    "solar-ii:gamma=100,clip=1",
]


def equal(X, y, m):
    return QueryDataset.from_arrays(np.asarray(X, np.float32), y, group=[m] * (len(y) // m))


def pairs(deltas):
    """A query for each delta, the second document better by it."""
    X = np.stack([-deltas / 2, deltas / 2], axis=1).reshape(-1, deltas.shape[1])
    return equal(X, np.tile([0.0, 1.0], len(deltas)), 2)


def lists(rng, n, m, d, grades, scale=1.0, wrong=0.2, shift=0.0):
    """Lists graded by a linear function, some documents wrongly; then scaled columns."""
    X = rng.normal(size=(n * m, d))
    places = np.argsort(np.argsort((X @ rng.normal(size=d)).reshape(n, m)))
    y = (places * grades // m).ravel().astype(float)
    noisy = rng.random(n * m) < wrong
    y[noisy] = rng.integers(0, grades, noisy.sum())
    return equal(X * scale + shift, y, m)


def streams(rng):
    sign, grow = (-1.0) ** np.arange(N), 1.1 ** np.arange(N)
    steep = 10.0 ** np.arange(-3, 2)
    yield "alternating labels", pairs(sign[:, None] * [[1.0, 0.0]])
    yield (
        "alternating lists",
        equal(
            np.tile(np.linspace(-1, 1, 5)[:, None], (N, 1)),
            np.concatenate([np.arange(5.0)[:: (-1) ** q] for q in range(N)]),
            5,
        ),
    )
    yield "growing", pairs(grow[:, None] * rng.normal(size=(N, 4)))
    yield "growing and alternating", pairs((grow * sign)[:, None] * [[1.0, 0.3]])
    yield "shrinking", pairs(rng.normal(size=(N, 4)) / grow[:, None])
    yield "scaled columns", lists(rng, N, 6, 5, 3, steep)
    yield "scaled columns, separable", lists(rng, N, 6, 5, 3, steep, wrong=0.0)
    yield "huge margin", pairs(np.array([1e4, 0.0]) + rng.normal(size=(N, 2)))
    yield "tiny margin", pairs(np.c_[np.full(N, 1e-3), rng.choice([-1, 1], N)])
    tiny = np.tile([[0.0, 1e-6], [0.0, -1e-6]], (50, 1))
    yield "clip", pairs(np.r_[[[-1.0, 0.0]], tiny, np.tile([[1.0, 0.0]], (100, 1))])
    yield "ties", equal(rng.integers(0, 2, (4 * N, 2)), rng.integers(0, 3, 4 * N), 4)
    yield "equal documents", equal(np.ones((3 * N, 2)), rng.integers(0, 2, 3 * N), 3)
    after = np.r_[np.ones((N, 2)), rng.normal(size=(N, 2))]
    yield "equal documents first", equal(after, np.tile([0.0, 1.0], N), 2)
    yield "one document", equal(rng.normal(size=(N, 3)), rng.integers(0, 3, N), 1)
    sizes = np.tile([1, 2], N // 2)
    X, y = rng.normal(size=(sizes.sum(), 3)), rng.integers(0, 3, sizes.sum())
    yield "one document and two", QueryDataset.from_arrays(X, y, group=sizes)
    yield "lists", lists(rng, N, 10, 6, 5)
    yield "a common value", lists(rng, N, 6, 4, 3, shift=100.0)
    yield "many grades", lists(rng, 40, 8, 4, 8)
    yield "tiles", lists(rng, 1, 520, 4, 3)
    low = np.r_[np.zeros(200), np.ones(10)]
    yield "ten under 200", equal(np.tile(low, 5)[:, None], np.tile(low, 5), 210)
    right = np.repeat(np.eye(12), 3, axis=0) * np.tile([1, -1, 1], 12)[:, None]
    yield "right angles", pairs(right)
    yield "all lengths", pairs(10.0 ** rng.uniform(-4, 4, (N, 1)) * rng.normal(size=(N, 3)))
    yield "nothing relevant", equal(rng.normal(size=(3 * N, 2)), np.zeros(3 * N), 3)


STREAMS = dict(streams(np.random.default_rng(0)))


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("spec", RANKERS)
def test_no_stream_costs_more_than_the_bound(spec, name):
    data, ranker = STREAMS[name], make_ranker(spec)
    seed = zlib.crc32(f"{spec} {name}".encode())
    rng = np.random.default_rng(seed)
    measure = None if spec.startswith("slam") else ("nDCG", "AP", "nDCG@1")[seed % 3]
    any_weights = rng.normal(size=data.n_features) * 10.0 ** rng.uniform(-3, 1)
    for weights in (None, np.zeros(data.n_features), any_weights):
        tracked = track(ranker, data, measure, weights=weights)
        assert tracked.holds
        assert (tracked.loss <= tracked.bound * (1 + 1e-6) + 1e-9).all()
