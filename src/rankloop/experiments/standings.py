"""The results of a comparison: means, standard deviations, standard errors and significance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.tabular import Tabular
from rankloop.data.frames import as_frame
from rankloop.exceptions import DataError
from rankloop.measures.comparison import Difference, compare_runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.experiments.fold_result import FoldResult


@dataclass(frozen=True, eq=False)
class Standing:
    """One ranker by one measure.

    fold_means : the mean over the queries of each fold
    values : one per query, fold after fold, NaN if it is left out; for random trials, whose test
        queries overlap, one per trial
    against : its difference from the baseline, tested query by query and corrected over rankers
        (Holm); None for the baseline itself, or if there are too few queries to test
    overlap : test queries per training query of random trials; 0 for folds
    """

    ranker: str
    measure: str
    convention: str
    fold_means: tuple[float, ...]
    values: NDArray[np.float64]
    results: tuple[FoldResult, ...]
    against: Difference | None = None
    overlap: float = 0.0

    @property
    def mean(self) -> float:
        """The mean over folds."""
        return float(np.mean(self.fold_means))

    @property
    def std(self) -> float:
        """The standard deviation over folds (0 for one)."""
        return float(np.std(self.fold_means, ddof=1)) if len(self.fold_means) > 1 else 0.0

    @property
    def se(self) -> float:
        """The standard error over queries, as if they were drawn at random (0 for one).

        Over trials it is corrected for the queries that they share, as in `paired_t`.
        """
        known = self.values[~np.isnan(self.values)]
        share = 1 / max(len(known), 1) + self.overlap
        return float(known.std(ddof=1) * math.sqrt(share)) if len(known) > 1 else 0.0

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        return {
            "ranker": self.ranker,
            "measure": self.measure,
            "convention": self.convention,
            "mean": _plain(self.mean),
            "std": _plain(self.std),
            "se": _plain(self.se),
            "folds": len(self.fold_means),
            "fold_means": [_plain(value) for value in self.fold_means],
            "queries": int((~np.isnan(self.values)).sum()),
            "baseline": None if self.against is None else self.against.baseline,
            "difference": None if self.against is None else self.against.difference,
            "p": None if self.against is None else self.against.p_value,
            "p_holm": None if self.against is None else self.against.p_adjusted,
            "significant": self.against is not None and self.against.significant,
            "chosen": [result.chosen for result in self.results],
            "seconds": sum(result.seconds for result in self.results),
            "fit_seconds": sum(result.fit_seconds for result in self.results) / len(self.results),
            "model_bytes": round(
                sum(result.model_bytes for result in self.results) / len(self.results)
            ),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Standings(Tabular):
    """Every ranker by every measure, and how they were measured.

    rows : ranker after ranker, in the given order
    setting : texts that say how the folds were made, the random seed and so on
    """

    rows: tuple[Standing, ...]
    baseline: str
    setting: Mapping[str, str] = field(default_factory=dict)
    unit: str = "queries"
    """What was drawn: queries, or, where their test parts overlap, trials."""

    @property
    def test(self) -> str:
        """The test of a difference, in words."""
        if self.unit == "queries":
            return "a randomisation test over queries"
        return "a paired t-test over trials, corrected for the queries that they share"

    @property
    def rankers(self) -> list[str]:
        """The names of the rankers, in the order given."""
        return list(dict.fromkeys(row.ranker for row in self.rows))

    @property
    def panels(self) -> list[tuple[str, str]]:
        """The measures and conventions, in the order given."""
        return list(dict.fromkeys((row.measure, row.convention) for row in self.rows))

    def panel(self, measure: str, convention: str) -> list[Standing]:
        """Return the rankers by one measure, best first."""
        rows = [r for r in self.rows if (r.measure, r.convention) == (measure, convention)]
        return sorted(rows, key=lambda row: -row.mean if row.mean == row.mean else math.inf)

    def results(self, ranker: str) -> tuple[FoldResult, ...]:
        """Return the results of a ranker on all folds."""
        return next(row.results for row in self.rows if row.ranker == ranker)

    def _rows(self) -> list[dict[str, object]]:
        return [
            {
                "measure": measure,
                "convention": convention,
                "ranker": row.ranker,
                "mean": row.mean,
                f"± {self.unit}": row.se,
                f"against {self.baseline}": None if row.against is None else row.against.difference,
                "p (Holm)": None if row.against is None else row.against.p_adjusted,
            }
            for measure, convention in self.panels
            for row in self.panel(measure, convention)
        ]

    __repr__ = Tabular.__str__

    def to_dicts(self) -> list[dict[str, object]]:
        """Return one dictionary per ranker and measure."""
        return [row.to_dict() for row in self.rows]

    def to_frame(self, kind: str | None = None) -> Any:
        """Return one row per ranker and measure, as a frame of `pandas` or `polars`."""
        return as_frame(self.to_dicts(), kind)


def stand(
    results: Mapping[str, Sequence[FoldResult]],
    baseline: str,
    seed: int,
    setting: Mapping[str, str],
    *,
    overlap: float = 0.0,
) -> Standings:
    """Combine the results of rankers on all folds.

    overlap : test queries per training query of random trials, whose means are tested (paired
        t-test) instead of queries (randomisation test); 0 for folds
    """
    by_fold = overlap > 0
    first = next(iter(results.values()))[0]
    rows: dict[tuple[str, int], Standing] = {}
    for k, what in enumerate(first.measured):
        means = {
            name: tuple(_number(result.measured[k].mean) for result in folds)
            for name, folds in results.items()
        }
        values = {
            name: np.array(
                means[name] if by_fold else [v for c in folds for v in c.measured[k].values],
                np.float64,
            )
            for name, folds in results.items()
        }
        tested = _test_differences(values, baseline, seed, overlap)
        for name, folds in results.items():
            rows[name, k] = Standing(
                name,
                what.measure,
                what.convention,
                means[name],
                values[name],
                tuple(folds),
                tested.get(name),
                overlap,
            )
    in_order = (rows[name, k] for name in results for k in range(len(first.measured)))
    return Standings(tuple(in_order), baseline, setting, "trials" if by_fold else "queries")


def _test_differences(
    values: Mapping[str, NDArray[np.float64]], baseline: str, seed: int, overlap: float
) -> dict[str, Difference]:
    if len(values) < 2:
        return {}
    try:
        test = "paired_t" if overlap else "randomisation"
        comparison = compare_runs(values, baseline, test, seed=seed, overlap=overlap)
    except DataError:  # fewer than two queries that both have: nothing to test
        return {}
    return {row.system: row for row in comparison.differences}


def _number(mean: float | None) -> float:
    return math.nan if mean is None else mean


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
