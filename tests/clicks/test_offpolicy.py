"""Off-policy evaluation against values that are known because the users are simulated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rankloop.clicks.bias.result import PositionBias
from rankloop.clicks.log.log import ClickLog
from rankloop.clicks.models.trust import TrustBias
from rankloop.clicks.offpolicy.estimators import IPS, Direct, DoublyRobust, SelfNormalised
from rankloop.clicks.offpolicy.evaluate import effective_size, evaluate_policy
from rankloop.clicks.offpolicy.examination import Examination, pool_exposure
from rankloop.clicks.offpolicy.item_position import ItemPosition
from rankloop.clicks.offpolicy.target import (
    Clicks,
    Discounted,
    Precision,
    TargetPages,
    parse_measure,
)
from rankloop.exceptions import DataError, MeasureError

N, QUERIES = 4, 30
BIAS = np.array([0.9, 0.6, 0.4, 0.25])
TRUST = np.array([0.3, 0.2, 0.1, 0.05])
WEIGHTS = {
    "clicks": BIAS,
    "DCG@3": np.array([1, 1 / np.log2(3), 1 / 2, 0]),
    "P@2": np.array([0.5, 0.5, 0, 0]),
}


class World:
    """Queries with known relevance, a logging ranker that shuffles, and a target ranking."""

    def __init__(self, seed=0, offsets=None):
        rng = np.random.default_rng(seed)
        self.relevance = rng.uniform(0.05, 0.95, (QUERIES, N))
        self.scores = self.relevance + 0.3 * rng.normal(size=(QUERIES, N))
        self.offsets = np.zeros(N) if offsets is None else offsets

    def log(self, rng, pages=400):
        queries = rng.integers(QUERIES, size=pages)
        shown = rng.permuted(np.tile(np.arange(N), (pages, 1)), axis=1)
        chance = BIAS * self.relevance[queries[:, None], shown] + self.offsets
        clicks = rng.random((pages, N)) < chance
        return ClickLog.from_rows(
            np.repeat(queries, N),
            shown.ravel(),
            clicks.ravel(),
            page=np.repeat(np.arange(pages), N),
            propensity=np.full(pages * N, 1 / N),
        )

    def of_rows(self, log, values):
        queries = log.query_ids[log.row_queries]
        return values[queries, log.document_ids[log.documents]]

    def target(self, log):
        return TargetPages.by_scores(log, self.of_rows(log, self.scores))

    def truth(self, weights, extra=0.0):
        order = np.argsort(-self.scores, axis=1)
        ranked = np.take_along_axis(self.relevance, order, axis=1)
        return float((ranked * weights).sum(axis=1).mean()) + extra


def estimator_of(name, world, log):
    exam = Examination(BIAS, world.offsets)
    relevance, n = world.of_rows(log, world.relevance), len(log.documents)
    exposure = np.full(n, BIAS.mean())  # of a ranker that shuffles
    return {
        "IPS": IPS(exam),
        "IPS by the ranker's exposure": IPS(exam, exposure=exposure),
        "DR, relevance wrong": DoublyRobust(exam, np.full(n, 0.3), exposure=exposure),
        "DR, exposure wrong": DoublyRobust(exam, relevance, exposure=0.4 + 0.3 * relevance),
        "DR, clipped": DoublyRobust(exam, relevance, clip=0.8),
        "direct": Direct(exam, relevance),
    }[name]


@pytest.mark.matrix
@pytest.mark.parametrize("measure", WEIGHTS)
@pytest.mark.parametrize(
    "name",
    [
        "IPS",
        "IPS by the ranker's exposure",
        "DR, relevance wrong",
        "DR, exposure wrong",
        "DR, clipped",
        "direct",
    ],
)
def test_estimates_are_free_of_bias(name, measure, rng):
    world, values = World(), []
    for _ in range(120):
        log = world.log(rng)
        found = evaluate_policy(log, world.target(log), estimator_of(name, world, log), measure)
        values.append(found.value)
    error = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(world.truth(WEIGHTS[measure]), abs=4 * error)


def test_pooled_and_doubly_robust_estimates_vary_less(rng):
    world, found = World(), {"plain": [], "pooled": [], "robust": []}
    for _ in range(100):
        log = world.log(rng)
        exam, target = Examination.of(BIAS), world.target(log)
        relevance = world.of_rows(log, world.relevance)
        exposure = np.full(len(log.documents), BIAS.mean())
        for name, estimator in (
            ("plain", IPS(exam)),
            ("pooled", IPS(exam, exposure=pool_exposure(log, exam))),
            ("robust", DoublyRobust(exam, relevance, exposure=exposure)),
        ):
            found[name].append(evaluate_policy(log, target, estimator, "DCG@3").value)
    truth = world.truth(WEIGHTS["DCG@3"])
    error = {name: np.sqrt(np.mean((np.array(v) - truth) ** 2)) for name, v in found.items()}
    assert error["pooled"] < 0.95 * error["plain"]
    assert error["robust"] < 0.95 * error["plain"]


def test_without_clipping_the_estimate_cancels_out(rng):
    world = World()
    log = world.log(rng)
    exam, target = Examination.of(BIAS), world.target(log)
    pooled = IPS(exam, exposure=pool_exposure(log, exam))
    robust = DoublyRobust(exam, world.of_rows(log, world.relevance))
    assert evaluate_policy(log, target, robust).value == pytest.approx(
        evaluate_policy(log, target, pooled).value
    )


def test_trust_bias_is_taken_back(rng):
    world, values, naive = World(offsets=TRUST), [], []
    for _ in range(120):
        log = world.log(rng)
        target = world.target(log)
        values.append(evaluate_policy(log, target, IPS(Examination(BIAS, TRUST)), "P@2").value)
        naive.append(evaluate_policy(log, target, IPS(Examination.of(BIAS)), "P@2").value)
    error, truth = np.std(values) / np.sqrt(120), world.truth(WEIGHTS["P@2"])
    assert np.mean(values) == pytest.approx(truth, abs=4 * error)
    assert np.mean(naive) > truth + 10 * error
    log = world.log(rng, 4000)
    clicks = evaluate_policy(log, world.target(log), IPS(Examination(BIAS, TRUST)), "clicks")
    truth = world.truth(BIAS, extra=TRUST.sum())
    assert clicks.low < truth < clicks.high


def test_self_normalised_is_the_mean_weight_of_relevance(rng):
    world = World()
    log = world.log(rng, 20_000)
    for factor in (1.0, 0.5):  # a common factor of examination does no harm
        estimator = SelfNormalised(Examination.of(factor * BIAS))
        found = evaluate_policy(log, world.target(log), estimator, "DCG@3")
        truth = world.truth(WEIGHTS["DCG@3"]) / world.relevance.sum(axis=1).mean()
        assert found.value == pytest.approx(truth, abs=3 * (found.high - found.low) / 2)
        assert found.value <= 1


@pytest.mark.parametrize("self_normalised", [False, True])
def test_item_position_needs_no_user_model(rng, self_normalised):
    world, values = World(), []
    estimator = ItemPosition(self_normalised=self_normalised)
    for _ in range(120):
        log = world.log(rng)
        values.append(evaluate_policy(log, world.target(log), estimator, "clicks").value)
    error = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(world.truth(BIAS), abs=4 * error + 0.005)


def test_intervals_cover(rng):
    """Of 150 intervals of 90 %, 135 are expected to hold; the binomial test decides."""
    world, held = World(), 0
    for _ in range(150):
        log = world.log(rng, 300)
        found = evaluate_policy(
            log, world.target(log), IPS(Examination.of(BIAS)), "DCG@3", confidence=0.9
        )
        # the queries of a log are a sample; the truth of this log's queries
        order = np.argsort(-world.scores, axis=1)
        ranked = np.take_along_axis(world.relevance, order, axis=1) @ WEIGHTS["DCG@3"]
        truth = ranked[log.query_ids[log.queries]].mean()
        held += found.low <= truth <= found.high
    assert stats.binomtest(held, 150, 0.9, "less").pvalue > 1e-3


def test_differences_are_sharper_than_values(rng):
    world = World()
    log = world.log(rng, 1000)
    estimator = IPS(Examination.of(BIAS))
    one = evaluate_policy(log, world.target(log), estimator, "DCG@3")
    near = TargetPages.by_scores(log, world.of_rows(log, world.scores + 0.02))
    same = one.minus(evaluate_policy(log, near, estimator, "DCG@3"))
    assert (same.value, same.low, same.high) == (0, 0, 0)
    better = evaluate_policy(
        log, TargetPages.by_scores(log, world.of_rows(log, world.relevance)), estimator, "DCG@3"
    ).minus(one)
    assert better.low > 0
    assert better.high - better.low < one.high - one.low
    with pytest.raises(DataError, match="method, measure and log are the same"):
        one.minus(evaluate_policy(log, near, estimator, "clicks"))


def test_counts_stand_for_repeated_pages(rng):
    world = World()
    log = world.log(rng, 200)
    counts = rng.integers(0, 3, 200)
    repeated = log.select(np.repeat(np.arange(200), counts))
    exam = Examination.of(BIAS)
    for estimator in (IPS(exam), SelfNormalised(exam), ItemPosition(self_normalised=True)):
        counted = log.with_counts(counts)
        one = evaluate_policy(counted, world.target(log), estimator, least_supported=0.5)
        same = evaluate_policy(repeated, world.target(repeated), estimator, least_supported=0.5)
        assert one.value == pytest.approx(same.value)
        assert one.supported == pytest.approx(same.supported)
        assert one.low == pytest.approx(same.low, rel=0.02)


def test_clipping_bounds_weights(rng):
    world = World()
    log = world.log(rng, 300)
    plain = evaluate_policy(log, world.target(log), IPS(Examination.of(BIAS)))
    cut = evaluate_policy(log, world.target(log), IPS(Examination.of(BIAS), clip=0.5))
    assert cut.effective_size > plain.effective_size
    assert (plain.cut, cut.cut) == (0, 0.5)
    assert cut.value < plain.value


def test_the_log_refuses_what_it_cannot_answer(rng):
    world = World()
    log = world.log(rng, 200)
    target, exam = world.target(log), Examination.of(BIAS)
    elsewhere = np.where(target.positions == 1, 0, target.positions)
    lost = TargetPages.by_positions(log, elsewhere, np.ones(200, int))
    with pytest.raises(DataError, match=r"it covers only 75% of what the ranker would show"):
        evaluate_policy(log, lost, IPS(Examination.of([1.0] * 4)), Clicks())
    with pytest.raises(DataError, match=r"cannot answer this: the estimate would be based on"):
        evaluate_policy(log.select(range(5)), world.target(log.select(range(5))), IPS(exam))
    fixed = ClickLog.from_pages([("q", ["a", "b"], ["a"])] * 50)
    with pytest.raises(DataError, match="the log has no propensities"):
        evaluate_policy(fixed, TargetPages.by_scores(fixed, np.tile([0, 1], 50)), ItemPosition())
    sure = ClickLog.from_rows(
        ["q"] * 4, ["a", "b"] * 2, [1, 0, 1, 0], page=[0, 0, 1, 1], propensity=[1.0] * 4
    )
    with pytest.raises(DataError, match="it covers only 0% of what the ranker would show"):
        evaluate_policy(sure, TargetPages.by_scores(sure, [0, 1, 0, 1]), ItemPosition())
    with pytest.raises(DataError, match="self-normalisation does not work with trust bias"):
        evaluate_policy(log, target, SelfNormalised(Examination(BIAS, TRUST)))


def test_examination_from_estimates():
    bias = PositionBias("x", np.array([1.0, 0.5]), *np.full((2, 2), np.nan))
    assert Examination.of(bias).slopes.tolist() == [1.0, 0.5]
    trust = TrustBias(relevant=np.array([0.9, 0.5]), irrelevant=np.array([0.3, 0.1]))
    assert Examination.of_trust(trust).slopes == pytest.approx([0.6, 0.4])
    with pytest.raises(DataError, match="position 2 has no estimate"):
        Examination.of([1.0, np.nan])
    with pytest.raises(DataError, match="at position 1 irrelevant documents are clicked as often"):
        Examination.of_trust(TrustBias(relevant=np.array([0.3]), irrelevant=np.array([0.4])))


def test_measures_and_targets():
    assert parse_measure("clicks") == Clicks()
    assert parse_measure("P@5") == Precision(5)
    assert str(parse_measure("DCG")) == "DCG"
    assert Discounted(2).weights(np.array([0, 1, 3]), None).tolist() == [0, 1, 0]
    with pytest.raises(MeasureError, match="'clicks', 'DCG', 'DCG@k' or 'P@k'; found 'nDCG'"):
        parse_measure("nDCG")
    log = ClickLog.from_pages([("q", ["a", "b", "c"], []), ("q", ["a", "b"], [])])
    assert TargetPages.by_scores(log, [1, 1, 2, 0, 3]).positions.tolist() == [2, 3, 1, 2, 1]
    with pytest.raises(DataError, match="NaN"):
        TargetPages.by_scores(log, [1, 1, np.nan, 0, 3])
    with pytest.raises(DataError, match="whole numbers from 1, or 0"):
        TargetPages.by_positions(log, [1, 2, -1, 1, 2])
    assert effective_size(np.ones(7)) == 7
    assert effective_size(np.zeros(0)) == 0
