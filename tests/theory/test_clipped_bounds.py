"""A clip that shortens steps: how few they are, and the bound that is left."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.rankers.online.linear import share
from rankloop.rankers.registry import make_ranker
from rankloop.theory.clipped import bound_clipped_mistakes
from rankloop.theory.tracking import track


def steps(kind, n, rng):
    """Lengths of steps that a clip shortens often."""
    if kind == "grow":  # by as much as the clip lets through, or more
        return 1.3 ** np.arange(n)
    if kind == "long after tiny":
        return np.r_[1.0, np.full(n // 2, 1e-9), np.ones(n - n // 2 - 1)]
    return 10.0 ** rng.uniform(-6, 0, n)


def pairs(deltas):
    """A query for each delta, the second document better by it."""
    X = np.stack([-deltas / 2, deltas / 2], axis=1).reshape(-1, deltas.shape[1])
    return QueryDataset.from_arrays(X, np.tile([0.0, 1.0], len(deltas)), group=[2] * len(deltas))


@pytest.mark.parametrize("clip", [2.0, 2.9, 10.0])
@pytest.mark.parametrize("kind", ["grow", "long after tiny", "any"])
def test_few_steps_are_shortened(kind, clip):
    rng = np.random.default_rng(0)
    for n in (2, 7, 60, 400):
        lengths, sums = steps(kind, n, rng), np.zeros(2)
        shares = np.array([share(sums, length, clip) for length in lengths])
        for T in range(1, n + 1):
            whole = (shares[:T] == 1).sum()
            ratio = lengths[:T].max() / lengths[0]
            assert bound_clipped_mistakes(whole, clip, ratio) * (1 + 1e-9) >= T


@pytest.mark.parametrize("clip", [2, 3, 10])
@pytest.mark.parametrize("spec", ["minimax", "slam:rate=100,measure=nDCG@1,average=False"])
def test_loss_on_streams_that_a_clip_lengthens(spec, clip):
    """A wrong step, tiny ones that shorten the mean, and right ones that are shortened by it."""
    tiny = np.tile([[0.0, 1e-6], [0.0, -1e-6]], (20 * clip, 1))
    right = np.tile([1.0, 0.0], (100 * clip, 1))
    data = pairs(np.r_[[[-1.0, 0.0]], tiny, right])
    tracked = track(make_ranker(spec).set_params(clip=clip), data, "nDCG@1", weights=[1.0, 0.0])
    assert tracked.theorem.endswith(", clipped")
    assert tracked.holds
    assert (tracked.loss <= tracked.bound).all()
    assert tracked.bound[-1] < {2: 80, 3: 20, 10: 3}[clip] * tracked.loss[-1]


@pytest.mark.parametrize("spec", ["minimax", "slam:rate=1,average=False", "slam:average=False"])
def test_loss_on_streams_of_very_different_lengths(spec):
    rng = np.random.default_rng(1)
    deltas = rng.normal(size=(300, 3)) * 10.0 ** rng.uniform(-4, 0, (300, 1))
    deltas *= np.where(rng.random(300) < 0.9, np.sign(deltas[:, 0]), 1)[:, None]
    tracked = track(make_ranker(spec).set_params(clip=2), pairs(deltas), "nDCG")
    assert tracked.theorem.endswith(", clipped")
    assert (tracked.loss <= tracked.bound).all()


def test_a_clip_below_2_has_no_bound():
    deltas = np.r_[[[1e-3, 0.0]], np.tile([[0.0, 1.0], [0.0, -1.0]], (9, 1))]
    tracked = track(make_ranker("minimax").set_params(clip=1), pairs(deltas))
    assert not tracked.holds
    with pytest.raises(DataError, match="clip must be at least 2 to have a bound; found 1"):
        bound_clipped_mistakes(1.0, 1, 1.0)
