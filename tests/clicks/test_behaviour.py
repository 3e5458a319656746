"""Probabilities of clicks against the sum over all clicks that a page can get, and draws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rankloop.clicks.log.log import ClickLog
from rankloop.clicks.models.behaviour import Browsing, Chain, Independent
from rankloop.clicks.models.ctr import GlobalCTR
from rankloop.clicks.models.evaluation import FLOOR, evaluate_clicks
from rankloop.clicks.models.pbm import PBM
from rankloop.clicks.users import (
    GradedUser,
    PositionUser,
    cascade_user,
    make_user,
    ultra_user,
)
from rankloop.exceptions import DataError

N = 4


def made(kind, rng, n=N):
    """A behaviour of one page with random parameters."""
    page = np.array([0, n])
    if kind == "independent":
        return Independent(rng.random(n))
    if kind == "chain":
        return Chain(page, *rng.random((3, n)))
    positions = np.cumsum(rng.integers(1, 3, n)).astype(np.int32)  # with gaps
    return Browsing(page, rng.random(n), positions, rng.random((5, 5)))


def chances_of_all(behaviour, n=N):
    """P(clicks) of each possible page, by the chain rule over conditionals."""
    for clicks in product((False, True), repeat=n):
        given = behaviour.conditional(np.array(clicks))
        yield clicks, np.where(clicks, given, 1 - given).prod()


@pytest.mark.parametrize("kind", ["independent", "chain", "browsing"])
def test_marginals_are_sums_over_all_clicks(kind, rng):
    behaviour = made(kind, rng)
    told = list(chances_of_all(behaviour))
    assert sum(chance for _, chance in told) == pytest.approx(1)
    summed = sum(np.array(clicks) * chance for clicks, chance in told)
    assert behaviour.probabilities() == pytest.approx(summed, abs=1e-12)


@pytest.mark.parametrize("kind", ["independent", "chain", "browsing"])
def test_draws_have_their_probabilities(kind, rng):
    behaviour, times = made(kind, rng, 3), 8000
    drawn = [tuple(behaviour.sample(rng).tolist()) for _ in range(times)]
    for clicks, chance in chances_of_all(behaviour, 3):
        error = np.sqrt(chance * (1 - chance) / times)
        assert abs(drawn.count(clicks) / times - chance) <= 4.5 * error


def test_a_chain_by_its_definition(rng):
    """Conditional clicks from the joint of examination and clicks, enumerated."""
    a, skip, click = rng.random((3, N))
    behaviour = Chain(np.array([0, N]), a, skip, click)
    for clicks in product((False, True), repeat=N):
        joint = {}  # examined at r, jointly with the clicks above
        alive, dead = 1.0, 0.0
        given = behaviour.conditional(np.array(clicks))
        for r in range(N):
            joint[r] = alive * a[r] / (alive + dead) if alive + dead else 0.0
            assert given[r] == pytest.approx(joint[r], abs=1e-12)
            if clicks[r]:
                alive, dead = alive * a[r] * click[r], alive * a[r] * (1 - click[r])
            else:
                stay = alive * (1 - a[r])
                alive, dead = stay * skip[r], dead + stay * (1 - skip[r])


def test_pages_do_not_touch_each_other(rng):
    one, two = made("chain", rng), made("chain", rng)
    both = Chain(
        np.array([0, N, N, 2 * N]),  # an empty page between
        *(
            np.concatenate([getattr(one, name), getattr(two, name)])
            for name in ("attraction", "after_skip", "after_click")
        ),
    )
    parts = np.concatenate([one.probabilities(), two.probabilities()])
    assert np.array_equal(both.probabilities(), parts)


def test_named_users():
    """The numbers of the literature, for three and five grades."""
    assert make_user("perfect").clicks == (0, 0.5, 1)
    assert make_user("navigational").stops == (0.2, 0.5, 0.9)
    five = make_user("informational", grades=5)
    assert five.clicks == (0.4, 0.6, 0.7, 0.8, 0.9)
    assert five.stops == (0.1, 0.2, 0.3, 0.4, 0.5)
    assert make_user("almost-random", grades=5).clicks == (0.4, 0.45, 0.5, 0.55, 0.6)
    assert ultra_user().probabilities([4, 4])[1] == pytest.approx(0.61)
    assert cascade_user().stops == (1, 1, 1, 1, 1)
    for name in ("perfect", "navigational", "informational", "almost-random"):
        for grades in (2, 3, 5):
            assert list(make_user(name, grades).clicks) == sorted(make_user(name, grades).clicks)


def test_both_readings_of_when_a_user_stops():
    clicks, stops = (0.4, 0.7), (0.1, 0.3)
    papers = GradedUser(clicks, stops).probabilities([1, 0])
    code = GradedUser(clicks, stops, "document").probabilities([1, 0])
    assert papers == pytest.approx([0.7, 0.4 * (1 - 0.7 * 0.3)])
    assert code == pytest.approx([0.7, 0.4 * (1 - 0.3)])


def test_users_draw_as_the_reference_does(rng):
    """Clicks up to the first document where the user stops, whichever reading."""
    user, times = make_user("informational", stops_after="document"), 4000
    grades = np.tile([0, 2, 1, 0], times)
    offsets = np.arange(0, 4 * times + 1, 4)
    found = user.sample(rng, grades, offsets).reshape(times, 4).mean(axis=0)
    chances = np.array(user.clicks)[[0, 2, 1, 0]]
    left = np.cumprod(np.r_[1, 1 - np.array(user.stops)[[0, 2, 1]]])
    assert found == pytest.approx(chances * left, abs=4 * 0.5 / np.sqrt(times))
    assert user.probabilities([0, 2, 1, 0]) == pytest.approx(chances * left)


def test_unjudged_documents_count_as_irrelevant():
    user = PositionUser((0.2, 0.8), (1.0,))
    assert user.probabilities([-1, 1]).tolist() == [0.2, 0.8]


def test_user_errors(rng):
    with pytest.raises(DataError, match="unknown user 'lazy'; known: perfect"):
        make_user("lazy")
    with pytest.raises(DataError, match="users for 2, 3 and 5 grades; found 4"):
        make_user("perfect", grades=4)
    with pytest.raises(DataError, match="grades go up to 3, but there are probabilities only for"):
        make_user("perfect").sample(rng, [3])
    with pytest.raises(DataError, match="2 probabilities of a click and 1 of stopping"):
        GradedUser((0, 1), (0,))
    with pytest.raises(DataError, match="stops_after must be"):
        GradedUser((0, 1), (0, 0), "never")
    with pytest.raises(DataError, match="rng must be"):
        make_user("perfect").sample(3, [0])


def test_scores_by_hand():
    log = ClickLog.from_pages([("q", ["a", "b"], ["a"]), ("q", ["a"], [])])
    model = PBM(
        examination=np.array([0.8, 0.5]), attraction=log.grouped_pages.table(np.full(2, 0.5), 0.5)
    )
    scores = evaluate_clicks(model, log)
    first, second = [0.4, 0.6], [0.75]
    assert scores.perplexity_at == pytest.approx(
        [2 ** -np.log2(first).mean(), 2 ** -np.log2(second).mean()]
    )
    assert scores.perplexity == pytest.approx(scores.perplexity_at.mean())
    assert scores.log_likelihood == pytest.approx(np.log([*first, *second]).sum() / 2)


def test_impossible_clicks_have_a_floor():
    log = ClickLog.from_pages([("q", ["a"], ["a"])])
    scores = evaluate_clicks(GlobalCTR(rate=0.0), log)
    assert scores.log_likelihood == pytest.approx(np.log(FLOOR))
