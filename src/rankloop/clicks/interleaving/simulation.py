"""Simulations of interleaving with judged queries and simulated users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from rankloop.data.validation import check_counts, check_rng
from rankloop.exceptions import DataError
from rankloop.measures.evaluation import evaluate
from rankloop.measures.ranking import rank_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.interleaving.base import Interleaved, Interleaver
    from rankloop.clicks.users import SimulatedUser
    from rankloop.data.dataset import QueryDataset

AB = "A/B"
"""The name that an ordinary experiment has among the methods."""


def rankings_of(data: QueryDataset, scores: Sequence[ArrayLike]) -> list[list[list[int]]]:
    """Return the ranking of each query by each ranker: rows of the query, from the top."""
    orders = [rank_order(data, np.asarray(values)) for values in scores]
    rankings = []
    for first, end in zip(data.offsets, data.offsets[1:], strict=False):
        rankings.append([(order[first:end] - first).tolist() for order in orders])
    return rankings


def play(
    method: Interleaver,
    rankings: Sequence[Sequence[Sequence[int]]],
    data: QueryDataset,
    user: SimulatedUser,
    rng: np.random.Generator,
    impressions: int,
    k: int = 10,
) -> Iterator[tuple[Interleaved, NDArray[np.bool_]]]:
    """Show lists for random queries and yield each with its clicks.

    Parameters
    ----------
    rankings : as :func:`rankings_of` gives them
    """
    queries = rng.integers(len(data), size=impressions).tolist()
    lists = [method.interleave(rankings[q], rng, k) for q in queries]
    shown = [
        data.offsets[q] + np.asarray(page.documents, np.int64)
        for q, page in zip(queries, lists, strict=True)
    ]
    offsets = np.r_[0, np.cumsum([len(rows) for rows in shown])]
    clicks = user.sample(rng, data.y[np.concatenate(shown)], offsets)
    for p, page in enumerate(lists):
        yield page, clicks[offsets[p] : offsets[p + 1]]


def binary_error(preferences: NDArray[np.float64], quality: ArrayLike) -> float:
    """Return the share of pairs of rankers whose better one was not found.

    >>> binary_error(np.array([[0, 0.1], [-0.1, 0]]), [0.3, 0.5])
    1.0
    """
    true = np.asarray(quality, np.float64)
    wrong = np.sign(preferences) != np.sign(true[:, None] - true[None, :])
    pairs = len(true) * (len(true) - 1)
    return float(wrong[~np.eye(len(true), dtype=bool)].sum() / pairs)


def discount_clicks(clicks: NDArray[np.bool_]) -> float:
    """Return what an A/B experiment measures here: clicks, discounted by 1 / log2(1 + rank)."""
    return float((clicks / np.log2(np.arange(2, len(clicks) + 2))).sum())


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How soon a difference between two rankers shows.

    difference : of the first ranker's quality less the second's, by true grades
    impressions : the numbers of impressions after which the experiments were evaluated
    right : by method, the share of repeats whose mean outcome has the correct sign
    power : by method, the share of repeats in which a test finds the difference, with the correct
        sign
    """

    difference: float
    impressions: NDArray[np.int64]
    right: Mapping[str, NDArray[np.float64]]
    power: Mapping[str, NDArray[np.float64]]

    def impressions_needed(self, method: str, share: float = 0.8) -> int | None:
        """Return the impressions after which a difference is found this often; None: not enough."""
        enough = np.flatnonzero(self.power[method] >= share)
        return int(self.impressions[enough[0]]) if len(enough) else None


def measure_sensitivity(
    data: QueryDataset,
    scores: tuple[ArrayLike, ArrayLike],
    methods: Mapping[str, Interleaver],
    user: SimulatedUser,
    rng: np.random.Generator,
    *,
    impressions: int = 1000,
    repeats: int = 100,
    k: int = 10,
    alpha: float = 0.05,
    measure: str = "nDCG@10",
    ab_outcome: Callable[[NDArray[np.bool_]], float] = discount_clicks,
) -> Sensitivity:
    """Compare methods of interleaving with an A/B experiment, by the impressions that they need.

    In the A/B experiment each impression shows one of the two rankings at random.

    Parameters
    ----------
    data : judged queries
    scores : of the two rankers
    methods : ways to interleave, by name
    user : who clicks
    impressions, repeats : of each experiment, and how many experiments
    k : length of the lists
    alpha : the level of the tests, two-sided
    measure : which ranker is truly better
    ab_outcome : what the A/B experiment measures of a page's clicks

    Notes
    -----
    Cost: about 100 microseconds per impression and method.

    Examples
    --------
    >>> from rankloop.clicks.interleaving.team_draft import TeamDraft
    >>> from rankloop.clicks.users import make_user
    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays(np.zeros((10, 1)), [2, 1] + [0] * 8, group=[10])
    >>> sensitivity = measure_sensitivity(
    ...     data, (data.y, -data.y), {"team draft": TeamDraft()}, make_user("perfect"),
    ...     np.random.default_rng(0), impressions=50, repeats=5
    ... )
    >>> float(sensitivity.right["team draft"][-1]), AB in sensitivity.right
    (1.0, True)

    References
    ----------
    Chapelle et al., Large-scale validation and analysis of interleaved search evaluation (2012).
    """
    check_rng(rng)
    check_counts(impressions=impressions, repeats=repeats, k=k)
    quality = [evaluate(data, np.asarray(values), measure)[measure] for values in scores]
    difference = quality[0] - quality[1]
    if difference == 0:
        raise DataError(f"both rankers have the same {measure}; there is no difference to find")
    rankings = rankings_of(data, scores)
    steps = np.unique(np.geomspace(10, max(impressions, 10), 30).astype(np.int64))
    steps = np.minimum(steps, impressions)
    threshold = float(ndtri(1 - alpha / 2))
    z = {name: np.empty((repeats, len(steps))) for name in (*methods, AB)}
    for repeat in range(repeats):
        for name, method in methods.items():
            played = play(method, rankings, data, user, rng, impressions, k)
            outcomes = np.array([shown.preferences(clicks)[0, 1] for shown, clicks in played])
            z[name][repeat] = _one_sample(outcomes, steps)
        z[AB][repeat] = _ab_test(rankings, data, user, rng, steps, k, ab_outcome)
    true = np.sign(difference)
    return Sensitivity(
        float(difference),
        steps,
        {name: (np.sign(statistics) == true).mean(axis=0) for name, statistics in z.items()},
        {name: (true * statistics > threshold).mean(axis=0) for name, statistics in z.items()},
    )


def _ab_test(
    rankings: Sequence[Sequence[Sequence[int]]],
    data: QueryDataset,
    user: SimulatedUser,
    rng: np.random.Generator,
    steps: NDArray[np.int64],
    k: int,
    outcome: Callable[[NDArray[np.bool_]], float],
) -> NDArray[np.float64]:
    n = int(steps[-1])
    queries, group = rng.integers(len(data), size=n), rng.integers(2, size=n)
    shown = [
        data.offsets[q] + np.asarray(rankings[q][g][:k], np.int64)
        for q, g in zip(queries, group, strict=True)
    ]
    offsets = np.r_[0, np.cumsum([len(rows) for rows in shown])]
    clicks = user.sample(rng, data.y[np.concatenate(shown)], offsets)
    values = np.array([outcome(page) for page in np.split(clicks, offsets[1:-1])])
    return _two_sample(values, group == 0, steps)


def _one_sample(outcomes: NDArray[np.float64], steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean divided by its standard error; 0 or infinite if nothing varies."""
    total, squares = np.cumsum(outcomes)[steps - 1], np.cumsum(outcomes**2)[steps - 1]
    spread = np.maximum(squares - total**2 / steps, 0)
    error = np.sqrt(spread / np.maximum(steps - 1, 1) * steps)
    certain = np.where(total == 0, 0.0, np.copysign(np.inf, total))
    return np.where(error > 0, total / np.where(error > 0, error, 1), certain)


def _two_sample(
    values: NDArray[np.float64], first: NDArray[np.bool_], steps: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return Welch's statistic of the first group against the other after each step."""
    mean, error = [], []
    for chosen in (first, ~first):
        n = np.maximum(np.cumsum(chosen)[steps - 1], 1)
        total = np.cumsum(values * chosen)[steps - 1]
        squares = np.cumsum(values**2 * chosen)[steps - 1]
        mean.append(total / n)
        error.append(np.maximum(squares / n - mean[-1] ** 2, 0) / n)
    whole = np.sqrt(error[0] + error[1])
    return np.where(whole > 0, (mean[0] - mean[1]) / np.where(whole > 0, whole, 1), 0.0)
