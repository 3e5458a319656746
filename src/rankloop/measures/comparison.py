"""Compare rankings: difference, effect size and significance, corrected for multiple tests."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.arguments import check_number, check_type
from rankloop._utils.tabular import Tabular
from rankloop.data.frames import as_frame
from rankloop.exceptions import DataError
from rankloop.measures.significance import (
    TESTS,
    bootstrap_interval,
    both,
    check_level,
    check_resamples,
    difference_by_query,
    holm,
    paired_t,
    standardise_mean,
    t_interval,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Difference:
    """One system compared with one baseline, over the queries that both have.

    relative is difference / |mean_baseline|, NaN if that is 0; effect_size is Cohen's d_z;
    p_adjusted is adjusted by Holm's method over all rows of the comparison, and significant means
    p_adjusted <= level.
    """

    system: str
    baseline: str
    mean_system: float
    mean_baseline: float
    difference: float
    relative: float
    effect_size: float
    wins: int
    ties: int
    losses: int
    queries: int
    p_value: float
    p_adjusted: float
    ci_low: float
    ci_high: float
    significant: bool


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """Every tested difference, and how it was tested."""

    differences: tuple[Difference, ...]
    test: str
    level: float
    n_resamples: int
    ci_resamples: int

    def _rows(self) -> list[dict[str, object]]:
        return [
            {
                "system": row.system,
                "mean": row.mean_system,
                "against": row.baseline,
                "its mean": row.mean_baseline,
                "difference": row.difference,
                "from": row.ci_low,
                "to": row.ci_high,
                "p (Holm)": row.p_adjusted,
                "significant": row.significant,
            }
            for row in self.differences
        ]

    __repr__ = Tabular.__str__

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a data frame of `pandas` or `polars` with one row per difference."""
        return as_frame(self.to_dicts(), kind)

    def to_dicts(self) -> list[dict[str, object]]:
        """Return one dictionary of plain values per difference; None means NaN or infinity."""
        return [
            {
                key: None if isinstance(value, float) and not math.isfinite(value) else value
                for key, value in dataclasses.asdict(row).items()
            }
            for row in self.differences
        ]


def compare_runs(
    values: Mapping[str, ArrayLike],
    baseline: str | None = None,
    test: str = "randomisation",
    *,
    seed: int | np.random.Generator = 0,
    level: float = 0.05,
    n_resamples: int = 10_000,
    ci_resamples: int = 2_000,
    overlap: float = 0.0,
) -> Comparison:
    """Test every system against the baseline, or every pair of systems without a baseline.

    Each pair uses its own random generator with the same seed, so that the p-value and interval of
    a row do not change when systems are added. Cost: O(pairs * resamples * queries).

    Parameters
    ----------
    values : for each system, its values of one measure, one per query; all systems have the same
        number of queries, and NaN marks a query that is left out
    baseline : a key of `values`; None compares every pair, with the earlier system as the baseline
    test : `randomisation`, `bootstrap`, `paired_t` or `wilcoxon`
    seed : a random seed, or a generator that supplies one
    level : significance level, in (0, 1); the interval has confidence 1 - level
    n_resamples, ci_resamples : number of resamples of the test and of the interval, at least 1
    overlap : for means over random splits of the same queries, the number of test queries per
        training query. The test is then the corrected t-test of :func:`paired_t`, and the interval
        is its own.

    >>> rows = compare_runs({"bm25": [0.2, 0.4, 0.3], "slam": [0.5, 0.6, 0.4]}).differences
    >>> [(r.system, r.baseline, round(r.difference, 3), r.wins, r.p_value) for r in rows]
    [('slam', 'bm25', 0.2, 3, 0.25)]
    """
    check_type("values", values, Mapping, "a mapping of systems to their values by query")
    check_type("test", test, str, "the name of a test")
    check_number("overlap", overlap, 0, whole=False)
    if overlap and test != "paired_t":
        raise DataError(f"values of overlapping splits need the test paired_t; found {test!r}")
    if test not in TESTS:
        raise DataError(f"unknown test {test!r}; known tests: {', '.join(TESTS)}")
    check_level(level)
    check_resamples(n_resamples)
    check_resamples(ci_resamples)
    arrays = {name: values_of(v, f"system {name!r}") for name, v in values.items()}
    pairs = _pairs(arrays, baseline)
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**63))
    rows = []
    for name, base in pairs:
        a, b = both(arrays[name], arrays[base])
        if len(a) < 2:
            raise DataError(
                f"{name!r} and {base!r} both have a value for {len(a)} queries; a test needs "
                "at least 2"
            )
        d = difference_by_query(a, b)
        mean_a, mean_b = math.fsum(a) / len(a), math.fsum(b) / len(b)
        mean = math.fsum(d) / len(d)
        if overlap:
            p = paired_t(a, b, overlap=overlap)
            low, high = t_interval(a, b, level, overlap=overlap)
        else:
            p = TESTS[test](a, b, np.random.default_rng(seed), n_resamples)
            low, high = bootstrap_interval(a, b, np.random.default_rng(seed), ci_resamples, level)
        rows.append(
            Difference(
                system=name,
                baseline=base,
                mean_system=mean_a,
                mean_baseline=mean_b,
                difference=mean,
                relative=mean / abs(mean_b) if mean_b else math.nan,
                effect_size=standardise_mean(d),
                wins=int((d > 0).sum()),
                ties=int((d == 0).sum()),
                losses=int((d < 0).sum()),
                queries=len(d),
                p_value=p,
                p_adjusted=math.nan,
                ci_low=low,
                ci_high=high,
                significant=False,
            )
        )
    adjusted = holm([row.p_value for row in rows]).tolist()
    return Comparison(
        tuple(
            dataclasses.replace(row, p_adjusted=p, significant=p <= level)
            for row, p in zip(rows, adjusted, strict=True)
        ),
        test,
        level,
        n_resamples,
        ci_resamples,
    )


def _pairs(
    arrays: Mapping[str, NDArray[np.float64]], baseline: str | None
) -> Sequence[tuple[str, str]]:
    if len(arrays) < 2:
        raise DataError(f"a comparison needs at least 2 systems; found {len(arrays)}")
    lengths = {name: len(v) for name, v in arrays.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name!r}: {n:,}" for name, n in lengths.items())
        raise DataError(f"systems have different numbers of queries ({counts}); they must be equal")
    if baseline is None:
        return [(later, earlier) for earlier, later in itertools.combinations(arrays, 2)]
    if baseline not in arrays:
        raise DataError(f"unknown baseline {baseline!r}; known systems: {', '.join(arrays)}")
    return [(name, baseline) for name in arrays if name != baseline]
