from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.losses.slam import SlamLoss
from rankloop.plotting.bounds import plot_bounds
from rankloop.rankers.registry import make_ranker
from rankloop.theory.adversary import play
from rankloop.theory.bounds import (
    minimax_bound,
    slam_any_rate_bound,
    solar_i_measure_bound,
    solar_ii_measure_bound,
)
from rankloop.theory.margin import max_norm
from rankloop.theory.surrogates import data_for, is_mistake, measure_losses
from rankloop.theory.tracking import track

from .twins import algorithm_2, noisy, simulated

BOUNDED = ["slam:rate=0.2,average=False", "minimax", "solar-i:C=0.1", "solar-ii:gamma=2"]


@pytest.mark.matrix
@pytest.mark.parametrize("text", BOUNDED)
@pytest.mark.parametrize("measure", ["nDCG", "nDCG@3", "AP"])
@pytest.mark.parametrize("make", [simulated, noisy])
def test_the_loss_stays_under_the_bound_all_along(text, measure, make):
    data = make(0, n=40)
    if text.startswith("slam"):
        text += f",measure={measure}"
    tracked = track(make_ranker(text), data, measure)
    assert tracked.holds
    assert tracked.separable == (make is simulated)
    assert (tracked.loss <= tracked.bound + 1e-9).all()
    assert (np.diff(tracked.bound) >= 0).all()
    scores = make_ranker(text).predict_then_learn(data)
    assert tracked.losses == pytest.approx(measure_losses(data, scores, measure))


@pytest.mark.parametrize("make", [simulated, noisy])
def test_the_last_bound_is_that_of_the_functions(make):
    data = make(1, n=30)
    u = np.linspace(0.1, 1, 6)
    slam = track(make_ranker("slam:rate=0.2,measure=AP,average=False"), data, weights=u)
    run = algorithm_2(data, "AP", 0.2, only_where_lost=False)
    expected = slam_any_rate_bound(data, u, "AP", rate=0.2, surrogate=run.comparison(u))
    assert slam.bound[-1] == pytest.approx(expected.value, rel=1e-6)
    assert slam.separable is None
    minimax = track(make_ranker("minimax"), data, weights=u)
    assert minimax.bound[-1] <= minimax_bound(data, u).value
    one = track(make_ranker("solar-i:C=0.1"), data, weights=u)
    assert one.bound[-1] == pytest.approx(solar_i_measure_bound(data, u, 0.1).value)
    two = track(make_ranker("solar-ii:gamma=2"), data, weights=u)
    assert two.bound[-1] == pytest.approx(solar_ii_measure_bound(data, u, 2.0).value)


def test_bounds_of_a_beginning_are_bounds_so_far():
    data = noisy(2, n=30)
    u = np.linspace(0.1, 1, 6)
    for text in ("slam:average=False", "minimax"):
        whole = track(make_ranker(text), data, weights=u)
        part = track(make_ranker(text), data.select(slice(10)), weights=u)
        assert whole.bound[:10] == pytest.approx(part.bound)


def test_on_separable_data_perceptrons_lose_a_constant():
    data = simulated(0, n=80)
    for text in ("slam:rate=1,average=False", "minimax", "solar-i"):
        bound = track(make_ranker(text), data).bound
        assert bound[-1] <= bound[20] * 1.5
    ap = track(make_ranker("slam:measure=AP,average=False"), data)
    seen = track(make_ranker("slam:measure=AP,average=False"), data_for("AP", data))
    assert ap.bound == pytest.approx(seen.bound)


@pytest.mark.parametrize(
    ("text", "measure", "broken"),
    [
        ("slam:measure=nDCG", "AP", "learns AP"),
        ("slam:decay=0.5", None, "constant"),
        ("slam", None, "mean"),
        ("minimax:decay=0.5", None, "constant"),
        ("solar-ii:covariance=diagonal", None, "full"),
    ],
)
def test_says_when_a_bound_does_not_apply(text, measure, broken):
    tracked = track(make_ranker(text), simulated(0, n=10), measure)
    assert not tracked.holds
    assert any(broken in a.text for a in tracked.assumptions if not a.holds)
    assert "does not apply" in plot_bounds(tracked).axes[0].get_title(loc="right")


def clipped_stream(n=1000, after=100):
    """One long step the wrong way, many tiny ones, and then long ones the right way.

    The tiny ones make the mean step small, so a clip shortens all that follow: the weights need
    dozens of mistakes for what a whole step mends at once.
    """
    tiny = [(0.0, 1e-6), (0.0, -1e-6)] * (n // 2)
    deltas = np.array([(-1.0, 0.0), *tiny, *[(1.0, 0.0)] * after])
    X = np.stack([-deltas / 2, deltas / 2], axis=1).reshape(-1, 2)  # the better document is second
    return QueryDataset.from_arrays(X, np.tile([0.0, 1.0], len(deltas)), group=[2] * len(deltas))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["minimax", "slam:rate=100,measure=nDCG@1,average=False"])
def test_a_clip_that_shortens_steps_has_a_larger_bound(text):
    """The papers' bounds are about whole steps: on this stream the loss is beyond them."""
    data = clipped_stream()
    clipped = track(make_ranker(text), data, "nDCG@1", weights=[1.0, 0.0])
    assert clipped.loss[-1] == pytest.approx(1074)
    assert clipped.holds
    assert (clipped.loss <= clipped.bound).all()
    whole = track(
        make_ranker(f"{text}{',' if ':' in text else ':'}clip=0"), data, "nDCG@1", weights=[1, 0]
    )
    assert whole.holds
    assert (whole.loss <= whole.bound + 1e-9).all()
    assert whole.bound[-1] < 1036 < clipped.loss[-1] < clipped.bound[-1] < 1490
    assert whole.theorem == track(make_ranker(text), data.select(slice(1)), "nDCG@1").theorem


@pytest.mark.parametrize(
    "text", ["minimax:clip=0", "slam:rate=9,measure=nDCG@1,clip=0,average=False"]
)
def test_a_weight_breaks_the_bound(text):
    """One step that counts for 1,000 costs about as many mistakes."""
    X = np.tile([[-0.5], [0.5]], (1001, 1))
    y, group = np.tile([0.0, 1.0], 1001), [2] * 1001
    y[:2] = 1, 0
    weights = np.r_[1000.0, np.ones(1000)]
    data = QueryDataset.from_arrays(X, y, group=group, query_weight=weights)
    tracked = track(make_ranker(text), data, "nDCG@1", weights=[1.0])
    assert tracked.loss[-1] >= 999 > 100 > tracked.bound[-1]
    assert [a.text for a in tracked.assumptions if not a.holds] == [
        "no query or document has a weight"
    ]


@pytest.mark.parametrize("measure", ["nDCG", "nDCG@2"])
def test_the_mean_within_a_grade_has_its_own_surrogate(measure):
    data, u, ranker = noisy(0, n=40, m=6, d=3), np.array([0.3, -0.2, 0.1]), make_ranker("slam")
    ranker.set_params(measure=measure, within_grade="mean", average=False, clip=0)
    tracked = track(ranker, data, weights=u)
    assert tracked.holds
    assert (tracked.loss <= tracked.bound).all()
    loss = SlamLoss(measure, within_grade="mean")  # its weights do not depend on scores
    f = 0.0
    for query in data:
        if is_mistake(
            ranker.predict(query.X, group=[6]) if ranker.is_fitted else np.zeros(6), query.y
        ):
            f += loss.value(query.X @ u, query.y)
        ranker.learn(query.X, query.y)
    b = np.linalg.norm(u) * np.sqrt(4 * max_norm(data) ** 2 + 2 / ranker.rate)
    assert tracked.bound[-1] == pytest.approx(f + b * np.sqrt(f) + b**2)


def test_a_ranker_that_knows_something_starts_elsewhere():
    data = simulated(0, n=10)
    assert not track(make_ranker("minimax").fit(data), data).holds


def test_other_rankers_have_no_bound():
    with pytest.raises(DataError, match="no loss bound is known for OnlineListNet"):
        track(make_ranker("online-listnet"), simulated(0, n=5))


def test_queries_without_pairs_cost_nothing():
    data = QueryDataset.from_arrays(np.eye(4), [0, 0, 1, 1], group=[2, 2])
    tracked = track(make_ranker("minimax"), data)
    assert tracked.loss.tolist() == tracked.bound.tolist() == [0.0, 0.0]


def test_prints_as_json():
    found = json.loads(json.dumps(track(make_ranker("minimax"), simulated(0, n=10)).to_dict()))
    assert found["ranker"] == "MinimaxPerceptron"
    assert 0 < found["loss"] <= found["bound"]
    assert found["separable"] is True


def test_the_figure_draws_the_numbers():
    data = simulated(0, n=30)
    tracked = [track(make_ranker(text), data) for text in BOUNDED[:3]]
    figure = plot_bounds(tracked)
    assert isinstance(figure, Figure)
    assert len(figure.axes) == 3
    for axes, result in zip(figure.axes, tracked, strict=True):
        bound, loss = axes.lines
        assert bound.get_ydata().tolist() == result.bound.tolist()
        assert loss.get_ydata().tolist() == result.loss.tolist()
        assert axes.get_title(loc="left") == result.ranker
        assert axes.get_yscale() == "log"
    flat = track(make_ranker("minimax"), play(make_ranker("minimax"), 0.5, 16, 2).data)
    assert flat.bound[-1] == pytest.approx(16)
    assert plot_bounds(flat).axes[0].get_yscale() == "linear"
    with pytest.raises(DataError, match="nothing to draw"):
        plot_bounds([])
