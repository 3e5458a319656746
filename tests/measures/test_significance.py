from __future__ import annotations

import itertools
import json
import math
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rankloop.exceptions import DataError
from rankloop.measures import significance
from rankloop.measures.comparison import compare_runs
from rankloop.measures.significance import (
    TESTS,
    bootstrap,
    bootstrap_interval,
    difference_by_query,
    effect_size,
    holm,
    paired_t,
    randomisation,
    wilcoxon,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def pair(n, seed=0, shift=0.05):
    r = rng(seed)
    base = r.random(n)
    return base + r.normal(shift, 0.2, n), base


# naive twins


def naive_randomisation(a, b):
    d = [x - y for x, y in zip(a, b, strict=True)]
    sums = [
        sum(s * x for s, x in zip(signs, d, strict=True))
        for signs in itertools.product((-1, 1), repeat=len(d))
    ]
    return sum(abs(s) >= abs(sum(d)) - 1e-9 for s in sums) / len(sums)


def naive_bootstrap_means(a, b):
    """All n^n resamples, each as likely."""
    d = [x - y for x, y in zip(a, b, strict=True)]
    return [mean(drawn) for drawn in itertools.product(d, repeat=len(d))]


def naive_holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, (len(p) - rank) * p[i])
        adjusted[i] = min(1.0, largest)
    return adjusted


@pytest.mark.parametrize("n", [2, 3, 7, 11])
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_randomisation_is_its_definition(n, seed):
    a, b = pair(n, seed)
    assert randomisation(a, b, rng()) == pytest.approx(naive_randomisation(a, b))


def test_exact_randomisation_with_ties_and_zeros():
    a, b = [0.7, 0.1, 0.5, 0.9, 0.4], [0.6, 0.0, 0.5, 0.8, 0.5]
    # +-0.1 four times, three up and one down: |sum| >= 0.2 in all but the 6 balanced patterns
    assert randomisation(a, b, rng()) == 1 - 6 / 16


@pytest.mark.slow
def test_bootstrap_approaches_the_full_enumeration():
    a, b = pair(6, 3, 0.1)
    means = naive_bootstrap_means(a, b)
    observed = mean(np.subtract(a, b))
    exact = sum(abs(m - observed) >= abs(observed) - 1e-12 for m in means) / len(means)
    assert 0.1 < exact < 0.9
    assert bootstrap(a, b, rng(), 40_000) == pytest.approx(exact, abs=0.01)
    low, high = bootstrap_interval(a, b, rng(), 40_000, 0.1)
    spread = max(means) - min(means)
    assert low == pytest.approx(np.quantile(means, 0.05), abs=0.01 * spread)
    assert high == pytest.approx(np.quantile(means, 0.95), abs=0.01 * spread)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_its_definition(p):
    assert holm(p).tolist() == pytest.approx(naive_holm(p))


def test_holm_by_hand():
    # 0.01 * 4 = 0.04; 0.02 * 3 = 0.06; 0.022 * 2 = 0.044, raised to 0.06; 0.9 * 1
    assert holm([0.022, 0.01, 0.9, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.9, 0.06])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@pytest.mark.parametrize("p", [[1.5], [-0.1], [math.nan], [[0.1]]])
def test_holm_refuses_what_is_no_p_value(p):
    with pytest.raises(DataError, match="from 0 to 1"):
        holm(p)


# scipy


@pytest.mark.parametrize("n", [2, 5, 40, 300])
def test_agrees_with_scipy(n):
    a, b = pair(n)
    assert paired_t(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)
    assert wilcoxon(a, b) == pytest.approx(stats.wilcoxon(a, b).pvalue, rel=1e-9)
    d = (a - b).tolist()
    assert effect_size(a, b) == pytest.approx(mean(d) / stdev(d))


def test_wilcoxon_leaves_zeros_out_and_ties_what_rounding_parted():
    d = np.array([1, 2, -1, 0, 3, 1, 0, -2, 1, 1, 4, 2])
    expected = stats.wilcoxon(d[d != 0]).pvalue
    assert wilcoxon(d, np.zeros(len(d))) == pytest.approx(expected)
    base = rng(1).choice([0.1, 0.3, 0.6], len(d))
    assert wilcoxon(base + d / 10, base) == pytest.approx(expected)
    many = np.tile(d, 5)
    base = rng(1).choice([0.1, 0.3, 0.6], len(many))
    assert wilcoxon(base + many / 10, base) == pytest.approx(stats.wilcoxon(many).pvalue)


def scipy_permutation(a, b, n):
    def statistic(x, y, axis):
        return np.mean(x - y, axis=axis)

    return stats.permutation_test(
        (a, b), statistic, permutation_type="samples", n_resamples=n, rng=rng(5), vectorized=True
    ).pvalue


def test_randomisation_agrees_with_scipy():
    a, b = pair(12, 2)
    assert randomisation(a, b, rng()) == pytest.approx(scipy_permutation(a, b, 2**12))
    a, b = pair(60, 2)
    sampled = scipy_permutation(a, b, 20_000)
    assert 0.01 < sampled < 0.5
    assert randomisation(a, b, rng(), 20_000) == pytest.approx(sampled, abs=0.01)


def test_sampled_meets_exact_where_one_turns_into_the_other(monkeypatch):
    a, b = pair(16, 4)
    exact = randomisation(a, b, rng())
    monkeypatch.setattr(significance, "_EXACT", 0)
    assert 0.01 < exact < 0.9
    assert randomisation(a, b, rng(), 40_000) == pytest.approx(exact, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("test", [randomisation, bootstrap])
def test_every_block_counts(monkeypatch, test):
    a, b = pair(50, 6)
    whole = test(a, b, rng(), 5_000)
    monkeypatch.setattr(significance, "_BLOCK", 64)  # one resample a block
    assert test(a, b, rng(), 5_000) == pytest.approx(whole, abs=0.04)
    assert test(a, b - 9, rng(), 999) == 1 / 1000


# behaviour


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS)
def test_p_values_are_uniform_when_nothing_differs(test):
    p = []
    for seed in range(300):
        a, b = pair(30, seed, shift=0.0)
        p.append(TESTS[test](a, b, rng(seed), 300))
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert 0.01 < np.mean(np.array(p) <= 0.05) < 0.12


@pytest.mark.parametrize("test", TESTS)
def test_finds_what_differs(test):
    row = compare_runs(dict(zip("ab", pair(100, shift=0.15), strict=True)), "b", test).differences[
        0
    ]
    assert row.significant
    assert row.p_value < 0.001
    assert 0.05 < row.ci_low < row.difference < row.ci_high < 0.25


def test_interval_covers_the_truth():
    hits = 0
    for seed in range(200):
        low, high = bootstrap_interval(*pair(60, seed, 0.1), rng(seed), 400, 0.1)
        hits += low <= 0.1 <= high
    assert 0.82 <= hits / 200 <= 0.96


values = st.integers(2, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 10), min_size=n, max_size=n)] * 2)
)


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS)
@settings(deadline=None)
@given(ab=values, seed=st.integers(0, 9))
def test_order_of_queries_does_not_matter(test, ab, seed):
    a, b = np.array(ab) / 10
    order = rng(seed).permutation(len(a))
    one = compare_runs({"a": a, "b": b}, "b", test, n_resamples=50, ci_resamples=50)
    two = compare_runs({"a": a[order], "b": b[order]}, "b", test, n_resamples=50, ci_resamples=50)
    for x, y in zip(one.to_dicts()[0].items(), two.to_dicts()[0].items(), strict=True):
        assert x == pytest.approx(y, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS)
@settings(deadline=None)
@given(ab=values)
def test_swapping_systems_flips_the_sign(test, ab):
    a, b = np.array(ab) / 10
    kept = {"n_resamples": 50, "ci_resamples": 50}
    x = compare_runs({"a": a, "b": b}, "b", test, **kept).differences[0]
    y = compare_runs({"a": a, "b": b}, "a", test, **kept).differences[0]
    assert (x.wins, x.ties, x.losses) == (y.losses, y.ties, y.wins)
    assert x.difference == -y.difference
    assert x.effect_size == pytest.approx(-y.effect_size)
    if x.difference != 0:
        assert x.p_value == pytest.approx(y.p_value)
        assert (x.ci_low, x.ci_high) == pytest.approx((-y.ci_high, -y.ci_low))


def test_nan_drops_a_query_from_its_pair_only():
    nan = math.nan
    found = compare_runs({"a": [1, 2, 3, nan], "b": [0, 0, 0, nan], "c": [1, nan, 1, nan]})
    assert [(r.system, r.baseline, r.queries) for r in found.differences] == [
        ("b", "a", 3),
        ("c", "a", 2),
        ("c", "b", 2),
    ]
    assert found.differences[1].mean_baseline == (1 + 3) / 2


def test_comparison_rows():
    found = compare_runs(
        {"bm25": [0.2, 0.4, 0.3, 0.1], "slam": [0.5, 0.6, 0.2, 0.1], "solar": [0.2, 0.4, 0.3, 0.1]},
        baseline="bm25",
    )
    slam, solar = found.differences
    assert slam.mean_system == pytest.approx((0.5 + 0.6 + 0.2 + 0.1) / 4)
    assert slam.difference == pytest.approx((0.3 + 0.2 - 0.1) / 4)
    assert slam.relative == pytest.approx((0.3 + 0.2 - 0.1) / (0.2 + 0.4 + 0.3 + 0.1))
    assert (slam.wins, slam.ties, slam.losses, slam.queries) == (2, 1, 1, 4)
    assert slam.p_value == 4 / 8  # of +-0.3 +-0.2 +-0.1, four reach 0.4 either way
    assert (slam.p_adjusted, solar.p_adjusted) == (1.0, 1.0)
    assert not slam.significant


def test_holm_is_over_the_family():
    base = rng(1).random(40)
    systems = {f"s{i}": base + rng(i).normal(0.05 * i, 0.2, 40) for i in range(4)}
    found = compare_runs({"base": base, **systems}, "base", "paired_t").differences
    assert [r.p_adjusted for r in found] == pytest.approx(naive_holm([r.p_value for r in found]))
    assert [r.significant for r in found] == [r.p_adjusted <= 0.05 for r in found]
    assert len(compare_runs({"base": base, **systems}).differences) == 5 * 4 / 2


def test_a_row_does_not_depend_on_the_other_systems():
    (a, b), (c, _) = pair(50), pair(50, 9)
    alone = compare_runs({"b": b, "a": a}, "b", seed=3).differences[0]
    among = compare_runs({"b": b, "c": c, "a": a}, "b", seed=3).differences[1]
    assert (alone.p_value, alone.ci_low) == (among.p_value, among.ci_low)
    assert alone.ci_low != compare_runs({"b": b, "a": a}, "b", seed=4).differences[0].ci_low


def test_a_generator_serves_as_seed():
    systems = dict(zip("ab", pair(50), strict=True))
    assert compare_runs(systems, seed=rng(3)) == compare_runs(systems, seed=rng(3))
    generator = rng(3)
    assert compare_runs(systems, seed=generator) != compare_runs(systems, seed=generator)


# degenerate inputs (a warning would be an error)


@pytest.mark.parametrize("n", [2, 40])
@pytest.mark.parametrize("test", TESTS)
def test_identical_systems(test, n):
    a = rng().random(n)
    row = compare_runs({"a": a, "b": a}, test=test).differences[0]
    assert (row.p_value, row.p_adjusted, row.effect_size, row.difference) == (1, 1, 0, 0)
    assert (row.ci_low, row.ci_high, row.ties, row.significant) == (0, 0, n, False)


@pytest.mark.parametrize("test", TESTS)
def test_constant_difference(test):
    b = rng().random(40)
    found = compare_runs({"b": b, "a": b + 0.1}, test=test)
    row = found.differences[0]
    assert row.p_value < 0.001
    assert row.effect_size == math.inf
    assert (row.ci_low, row.ci_high) == pytest.approx((0.1, 0.1))
    assert found.to_dicts()[0]["effect_size"] is None


def test_rounding_is_no_difference():
    assert difference_by_query([0.1 + 0.2, 1.0], [0.3, 0.0]).tolist() == [0.0, 1.0]


def test_to_dicts_is_plain_json():
    found = compare_runs({"zero": [0.0, 0.0, 0.0], "a": [1.0, 0.5, np.float32(0.25)]})
    row = json.loads(json.dumps(found.to_dicts(), allow_nan=False))[0]
    assert row["relative"] is None
    assert row["significant"] is False
    assert list(row)[:3] == ["system", "baseline", "mean_system"]


# errors


@pytest.mark.parametrize(
    ("systems", "options", "message"),
    [
        ({"a": [1, 2]}, {}, "at least 2 systems; found 1"),
        ({"a": [1, 2], "b": [1, 2, 3]}, {}, "'a': 2, 'b': 3"),
        ({"a": [1], "b": [2]}, {}, "'b' and 'a' both have a value for 1 queries"),
        ({"a": [1, math.nan, 2], "b": [1, 2, math.nan]}, {}, "both have a value for 1 queries"),
        ({"a": [1, 2], "b": [1, 2]}, {"baseline": "c"}, "unknown baseline 'c'.*a, b"),
        ({"a": [1, 2], "b": [1, 2]}, {"test": "z"}, "'z'; known tests: randomisation, bootstrap"),
        ({"a": [1, 2], "b": [1, 2]}, {"level": 5}, "between 0 and 1"),
        ({"a": [1, 2], "b": [1, 2]}, {"n_resamples": 0}, "at least 1; found 0"),
        ({"a": [1, 2], "b": [1, 2]}, {"ci_resamples": 0}, "at least 1; found 0"),
        ({"a": [1, math.inf], "b": [1, 2]}, {}, "system 'a' must be finite"),
        ({"a": ["x", "y"], "b": [1, 2]}, {}, "system 'a' must be numbers"),
        ({"a": [[1], [2]], "b": [1, 2]}, {}, r"shape \(2, 1\)"),
    ],
)
def test_errors_say_what_was_found(systems, options, message):
    with pytest.raises(DataError, match=message):
        compare_runs(systems, **options)


def test_pair_errors():
    with pytest.raises(DataError, match="2 and 3 values"):
        paired_t([1, 2], [1, 2, 3])
    with pytest.raises(DataError, match="1 queries have a value in both"):
        wilcoxon([1, math.nan], [1, 2])
