"""A clip that shortens steps: how few they are, and the bounds that are left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.rankers.online.linear import share
from rankloop.rankers.online.solar_ii import SolarII
from rankloop.rankers.registry import make_ranker
from rankloop.theory.clipped import bound_clipped_mistakes, solar_ii_factors
from rankloop.theory.solar import pair_radius
from rankloop.theory.tracking import track

from . import twins

CLIPS = [0.3, 1.0, 1.5, 2.0, 2.9, 10.0]


def steps(kind, n, rng):
    """Lengths of steps that a clip shortens often."""
    if kind == "grow":  # by as much as the clip lets through, or more
        return 1.3 ** np.arange(n)
    if kind == "long after tiny":  # no step adds to the sum before the long ones
        return np.r_[1.0, np.full(n // 10, 1e-9), np.ones(n - n // 10 - 1)]
    if kind == "first tiny":
        return np.r_[1e-3, np.ones(n - 1)]
    return 10.0 ** rng.uniform(-6, 0, n)


def pairs(deltas):
    """A query for each delta, the second document better by it."""
    X = np.stack([-deltas / 2, deltas / 2], axis=1).reshape(-1, deltas.shape[1])
    return QueryDataset.from_arrays(X, np.tile([0.0, 1.0], len(deltas)), group=[2] * len(deltas))


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("kind", ["grow", "long after tiny", "first tiny", "any"])
def test_mistakes_follow_from_the_shares_of_steps(kind, clip):
    rng = np.random.default_rng(0)
    for n in (2, 7, 60, 400):
        lengths, sums = steps(kind, n, rng), np.zeros(2)
        shares = np.array([share(sums, length, clip) for length in lengths])
        for T in range(1, n + 1):
            ratio = lengths[:T].max() / lengths[0]
            bound = bound_clipped_mistakes(shares[:T].sum(), clip, ratio)
            assert bound * (1 + 1e-9) >= T


@pytest.mark.parametrize("clip", [1.0, 1.5, 2.0, 2.9, 10.0])
def test_the_bound_by_shares_is_nearly_reached(clip):
    """Tiny steps, which make the mean as small as they can, and then long ones."""
    tiny, sums = 20, np.zeros(2)
    lengths = np.r_[1.0, np.full(tiny, 1e-12), np.ones(1000)]
    shares = np.array([share(sums, length, clip) for length in lengths])
    steps_so_far = np.arange(1, len(shares) + 1)
    bounds = bound_clipped_mistakes(np.cumsum(shares), clip, 1.0)
    assert (bounds * (1 + 1e-9) >= steps_so_far).all()
    assert (steps_so_far / bounds)[2 * tiny :].max() > 0.9


@pytest.mark.parametrize(
    ("clip", "most"), [(0.5, 2000), (1, 60), (1.5, 15), (2, 8), (3, 4), (10, 2)]
)
@pytest.mark.parametrize("spec", ["minimax", "slam:rate=100,measure=nDCG@1,average=False"])
def test_loss_on_streams_that_a_clip_lengthens(spec, clip, most):
    """A wrong step, tiny ones that shorten the mean, and right ones that are shortened by it."""
    tiny = np.tile([[0.0, 1e-6], [0.0, -1e-6]], (int(20 * clip), 1))
    right = np.tile([1.0, 0.0], (int(100 * clip), 1))
    data = pairs(np.r_[[[-1.0, 0.0]], tiny, right])
    tracked = track(make_ranker(spec).set_params(clip=clip), data, "nDCG@1", weights=[1.0, 0.0])
    assert tracked.theorem.endswith(", clipped")
    assert tracked.holds
    assert (tracked.loss <= tracked.bound).all()
    assert tracked.bound[-1] < most * tracked.loss[-1]


@pytest.mark.parametrize("clip", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("spec", ["minimax", "slam:rate=1,average=False", "slam:average=False"])
def test_loss_on_streams_of_very_different_lengths(spec, clip):
    rng = np.random.default_rng(1)
    deltas = rng.normal(size=(300, 3)) * 10.0 ** rng.uniform(-4, 0, (300, 1))
    deltas *= np.where(rng.random(300) < 0.9, np.sign(deltas[:, 0]), 1)[:, None]
    tracked = track(make_ranker(spec).set_params(clip=clip), pairs(deltas), "nDCG")
    assert tracked.theorem.endswith(", clipped")
    assert tracked.holds
    assert (tracked.loss <= tracked.bound).all()


def test_a_ranker_without_a_clip_needs_no_such_bound():
    with pytest.raises(DataError, match="clip must be above 0; found 0"):
        bound_clipped_mistakes(1.0, 0, 1.0)
    assert bound_clipped_mistakes(1e9, 1e-3, 10.0) == np.inf


def solar_streams():
    rng = np.random.default_rng(2)
    length = 1.5 ** np.arange(40)
    across = rng.normal(size=(40, 3))
    yield "alternating labels", pairs(np.tile([[1.0, 0.0], [-1.0, 0.0]], (30, 1)))
    yield "growing norms", pairs(length[:, None] * across)
    yield "growing and alternating", pairs((length * (-1) ** np.arange(40))[:, None] * [[1.0, 0.1]])
    yield "tiny and then long", pairs(np.r_[1e-3 * across, np.tile([[1.0, 0.0, 0.0]], (40, 1))])
    first = np.r_[[[-1.0, 0.0]], np.tile([[0.0, 1e-3]], (3, 1))]
    yield "long after tiny", pairs(np.r_[first, np.tile([[1.0, 0.0]], (100, 1))])
    yield "all lengths", pairs(10.0 ** rng.uniform(-3, 3, (200, 1)) * rng.normal(size=(200, 3)))
    scaled = twins.noisy(0, n=40)
    yield "scaled columns", replace(scaled, X=(scaled.X * 10.0 ** np.arange(-2, 4)).astype("f4"))
    yield "huge", pairs(1e6 * rng.normal(size=(30, 2)))  # more than the core lets through
    long = twins.noisy(1, n=20, m=9)
    scale = np.repeat(3.0 ** rng.integers(-3, 4, 20), 9)[:, None]
    yield "lists, a scale for each", replace(long, X=(long.X * scale + 7).astype("f4"))


SOLAR_STREAMS = dict(solar_streams())


@pytest.mark.parametrize("clip", [0.0, 0.5, 1.0, 10.0])
@pytest.mark.parametrize("gamma", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("name", SOLAR_STREAMS)
def test_solar_ii_keeps_its_bound(name, gamma, clip):
    """No assumption about the clip is left: its bound is that of the queries as it sees them."""
    data = SOLAR_STREAMS[name]
    tracked = track(SolarII(gamma=gamma, clip=clip), data, "nDCG")
    factors = solar_ii_factors(SolarII(gamma=gamma, clip=clip), data)
    assert tracked.holds
    assert tracked.theorem.endswith(", clipped") == bool((factors < 1).any())
    assert (tracked.loss <= tracked.bound * (1 + 1e-6)).all()


@pytest.mark.parametrize("clip", [0.5, 2.0])
@pytest.mark.parametrize("name", ["tiny and then long", "all lengths", "lists, a scale for each"])
def test_a_clip_of_solar_ii_brings_documents_together(name, clip):
    """With a clip it learns what it would learn without one from documents that are nearer."""
    data, ranker = SOLAR_STREAMS[name], SolarII(gamma=1.0, clip=clip)
    factors = solar_ii_factors(ranker, data)
    assert (factors > 0).all()
    assert (factors < 1).any()
    nearer = replace(data, X=(data.X * np.repeat(factors, data.sizes)[:, None]).astype("f4"))
    free = SolarII(gamma=1.0, clip=0.0).fit(nearer).last_weights_
    assert ranker.fit(data).last_weights_ == pytest.approx(free, rel=1e-3, abs=1e-4)
    assert pair_radius(nearer) <= pair_radius(data)


def test_the_bound_of_solar_ii_with_a_clip_means_something():
    """Four queries of 104 are lost, and it allows less than 13."""
    data = SOLAR_STREAMS["long after tiny"]
    tracked = track(SolarII(gamma=10.0, clip=2.0), data, "nDCG@1")
    assert tracked.theorem == "Theorem 4, repaired, clipped"
    assert tracked.loss[-1] == 4
    assert 4 <= tracked.bound[3] <= tracked.bound[-1]
    ratios = tracked.loss / tracked.bound
    assert 0.3 < ratios[tracked.bound < 13].max() < 1
