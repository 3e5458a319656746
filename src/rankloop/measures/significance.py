"""Paired significance tests over queries for two rankings, with effect sizes.

Every function takes the values of a measure for two systems: one value per query, in the same query
order. NaN marks a query that a measure left out; a query that is NaN for either system of a pair is
dropped from that pair. Differences within rounding error (1e-12 of the larger value) count as 0.

Results do not depend on the order of the queries, nor (except for the sign) on the order of the two
systems.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils.arguments import check_number
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    Test = Callable[[ArrayLike, ArrayLike, np.random.Generator, int], float]

_ROUNDING = 1e-12
_EXACT = 16  # up to 2^15 sign patterns are enumerated
_BLOCK = 1 << 20  # elements of a block of resamples: 8 MB of float64


def difference_by_query(system: ArrayLike, baseline: ArrayLike) -> NDArray[np.float64]:
    """Return system - baseline for every query that both have; rounding errors become 0.

    >>> difference_by_query([0.5, 0.1 + 0.2, np.nan], [0.25, 0.3, 1.0]).tolist()
    [0.25, 0.0]
    """
    a, b = values_of(system, "system"), values_of(baseline, "baseline")
    if len(a) != len(b):
        raise DataError(
            f"the two systems have {len(a):,} and {len(b):,} values; paired tests need one value "
            "per query from both, in the same order"
        )
    a, b = both(a, b)
    if len(a) < 2:
        raise DataError(f"{len(a)} queries have a value in both systems; a test needs at least 2")
    d = a - b
    d[np.abs(d) <= _ROUNDING * np.maximum(np.abs(a), np.abs(b))] = 0.0
    return d


def paired_t(system: ArrayLike, baseline: ArrayLike, *, overlap: float = 0.0) -> float:
    """Two-sided p-value of Student's paired t-test: t = mean(d) / (sd(d) sqrt(1/n + overlap)).

    It has n - 1 degrees of freedom. A constant difference gives 0, or 1 if the difference is 0.
    O(n).

    Parameters
    ----------
    overlap : 0 for independent values, such as one per query. If values are means over random
        splits of the same queries, the number of test queries per training query: such splits
        share most of their training data, and without it small differences look certain.

    >>> round(paired_t([3.0, 5.0, 4.0], [1.0, 2.0, 3.0]), 4)
    0.0742
    >>> round(paired_t([3.0, 5.0, 4.0], [1.0, 2.0, 3.0], overlap=1 / 3), 4)
    0.134

    References
    ----------
    Nadeau and Bengio, Inference for the generalization error (2003): the corrected resampled t.
    """
    from scipy.special import stdtr

    d = difference_by_query(system, baseline)
    d_z = standardise_mean(d)
    if math.isinf(d_z):
        return 0.0
    return float(2.0 * stdtr(len(d) - 1, -abs(d_z) / math.sqrt(1 / len(d) + overlap)))


def t_interval(
    system: ArrayLike, baseline: ArrayLike, level: float = 0.05, *, overlap: float = 0.0
) -> tuple[float, float]:
    """Student's interval of the mean difference at confidence 1 - level: the one of `paired_t`.

    >>> [round(end, 3) for end in t_interval([3.0, 5.0, 4.0], [1.0, 2.0, 3.0])]
    [-0.484, 4.484]
    """
    from scipy.special import stdtrit

    check_level(level)
    d = difference_by_query(system, baseline)
    mean = math.fsum(d) / len(d)
    error = float(d.std(ddof=1)) * math.sqrt(1 / len(d) + overlap)
    half = float(stdtrit(len(d) - 1, 1 - level / 2)) * error
    return mean - half, mean + half


def wilcoxon(system: ArrayLike, baseline: ArrayLike) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test, without the zero differences.

    It is exact, also with ties, for at most 16 nonzero differences; otherwise SciPy computes it.
    Differences that are equal except for rounding share their rank. O(n log n).

    >>> wilcoxon([3.0, 5.0, 4.0], [1.0, 2.0, 3.0])
    0.25
    """
    from scipy import stats

    d = difference_by_query(system, baseline)
    if not d.any():
        return 1.0
    d = np.round(d / np.abs(d).max(), 10)
    d = np.sort(d[d != 0])
    if len(d) <= _EXACT:  # scipy would enumerate ties one by one
        ranks = stats.rankdata(np.abs(d))
        return _share_of_flips(ranks, abs(float(np.sign(d) @ ranks)))
    return float(stats.wilcoxon(d).pvalue)


def randomisation(
    system: ArrayLike, baseline: ArrayLike, rng: np.random.Generator, n_resamples: int = 10_000
) -> float:
    """Two-sided p-value of Fisher's randomisation test: P(|sum of +-d| >= |sum of d|).

    It is exact, by enumeration, for at most 16 nonzero differences; otherwise it is (count + 1) /
    (n + 1) over n random sign flips. O(n_resamples * n) time, 8 MB of memory.

    Parameters
    ----------
    n_resamples : >= 1; the smallest p-value is 1 / (n_resamples + 1)

    >>> randomisation([3.0, 5.0, 4.0], [1.0, 2.0, 3.0], np.random.default_rng(0))
    0.25
    """
    check_resamples(n_resamples)
    d = difference_by_query(system, baseline)
    size = np.sort(np.abs(d[d != 0]))  # signs are drawn, so order and direction do not matter
    total = math.fsum(size)
    extreme = abs(math.fsum(d)) - _ROUNDING * total
    if len(size) == 0:
        return 1.0
    if len(size) <= _EXACT:
        return _share_of_flips(size, extreme)
    count = 0
    for rows in _blocks(n_resamples, len(size)):
        bits = rng.integers(0, 256, (rows, -(-len(size) // 8)), dtype=np.uint8)
        positive = np.unpackbits(bits, axis=1, count=len(size)) @ size
        count += int(np.count_nonzero(np.abs(2.0 * positive - total) >= extreme))
    return (count + 1) / (n_resamples + 1)


def bootstrap(
    system: ArrayLike, baseline: ArrayLike, rng: np.random.Generator, n_resamples: int = 10_000
) -> float:
    """Two-sided p-value of the paired bootstrap, shift method: P(|mean* - mean| >= |mean|).

    `mean*` is the mean difference of n queries drawn with replacement; (count + 1) / (n + 1).
    O(n_resamples * n) time, about 20 MB of memory.

    >>> bootstrap([1.0, 1.0], [1.0, 1.0], np.random.default_rng(0))
    1.0
    """
    d, _ = _orient(difference_by_query(system, baseline))
    mean = math.fsum(d) / len(d)
    extreme = abs(mean) - _ROUNDING * float(np.abs(d).mean())
    count = np.count_nonzero(np.abs(_resample_means(d, rng, n_resamples) - mean) >= extreme)
    return (int(count) + 1) / (n_resamples + 1)


def bootstrap_interval(
    system: ArrayLike,
    baseline: ArrayLike,
    rng: np.random.Generator,
    n_resamples: int = 10_000,
    level: float = 0.05,
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean difference, at confidence 1 - level.

    >>> bootstrap_interval([1.0, 2.0], [0.5, 1.5], np.random.default_rng(0))
    (0.5, 0.5)
    """
    check_level(level)
    d, sign = _orient(difference_by_query(system, baseline))
    means = sign * _resample_means(d, rng, n_resamples)
    low, high = np.quantile(means, [level / 2, 1 - level / 2])
    return float(low), float(high)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjustment: the i-th smallest of m becomes max over j <= i of (m-j+1) p_j.

    >>> holm([0.01, 0.04, 0.03]).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise DataError("p_values must be numbers from 0 to 1 in one dimension")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def effect_size(system: ArrayLike, baseline: ArrayLike) -> float:
    """Cohen's d of paired differences, d_z = mean(d) / sd(d); +-inf for a constant difference.

    >>> effect_size([3.0, 5.0, 4.0], [1.0, 2.0, 3.0])
    2.0
    """
    return standardise_mean(difference_by_query(system, baseline))


TESTS: dict[str, Test] = {
    "randomisation": randomisation,
    "bootstrap": bootstrap,
    "paired_t": lambda system, baseline, _rng, _n: paired_t(system, baseline),
    "wilcoxon": lambda system, baseline, _rng, _n: wilcoxon(system, baseline),
}
"""The tests that :func:`rankloop.measures.comparison.compare_runs` knows, by name."""


def values_of(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return one system's values as an array, or raise an error that says what is wrong."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"values of {name} must be numbers: {error}") from None
    if array.ndim != 1 or np.isinf(array).any():
        problem = "an infinite value" if array.ndim == 1 else f"shape {array.shape}"
        raise DataError(f"values of {name} must be finite or NaN, one per query; found {problem}")
    return array


def both(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Keep the queries for which both systems have a value."""
    known = ~(np.isnan(a) | np.isnan(b))
    return a[known], b[known]


def _share_of_flips(size: NDArray[np.float64], extreme: float) -> float:
    """Return the share of all 2^n sign patterns with |sum of +-size| >= extreme."""
    sums = size[:1]  # keep the first sign: the other half is a mirror image
    for value in size[1:]:
        sums = np.concatenate((sums + value, sums - value))
    return float(np.mean(np.abs(sums) >= extreme))


def standardise_mean(d: NDArray[np.float64]) -> float:
    """Return mean / sd (n - 1 degrees of freedom); 0 if all are 0, +-inf if all are equal."""
    mean = math.fsum(d) / len(d)
    sd = math.sqrt(math.fsum((d - mean) ** 2) / (len(d) - 1))
    if sd <= 1e-9 * abs(mean):  # this is rounding error, not variation
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / sd


def _orient(d: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Sort differences, with a mean of at least 0, so that order and direction do not matter."""
    sign = -1.0 if math.fsum(d) < 0 else 1.0
    return np.sort(sign * d), sign


def _resample_means(
    d: NDArray[np.float64], rng: np.random.Generator, n_resamples: int
) -> NDArray[np.float64]:
    check_resamples(n_resamples)
    return np.concatenate(
        [
            d[rng.integers(0, len(d), (rows, len(d)), dtype=np.int32)].mean(axis=1)
            for rows in _blocks(n_resamples, len(d))
        ]
    )


def _blocks(n_resamples: int, n: int) -> Iterator[int]:
    """Split resamples into blocks of at most _BLOCK elements (and at least one resample)."""
    step = max(1, _BLOCK // n)
    return (min(step, n_resamples - first) for first in range(0, n_resamples, step))


def check_resamples(n: int) -> None:
    """Raise unless there is at least one resample."""
    check_number("the number of resamples", n, 1)


def check_level(level: float) -> None:
    """Raise unless the significance level lies between 0 and 1."""
    check_number("level", level, whole=False)
    if not 0 < level < 1:
        raise DataError(f"level must lie between 0 and 1, such as 0.05; found {level}")
