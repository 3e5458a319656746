"""Compare rankers for clicks: simulated users click, and the true grades measure the result."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.rankers.base import ClickRanker
from rankloop.clicks.rankers.from_clicks import FromClicks
from rankloop.data.validation import check_counts
from rankloop.exceptions import DataError
from rankloop.measures.evaluation import evaluate
from rankloop.measures.measure import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.clicks.users import SimulatedUser
    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.online.base import OnlineRanker

DISCOUNT = 0.9995
"""How much the next impression counts beside this one, in online performance."""


@dataclass(frozen=True, eq=False)
class ClickStream:
    """How one ranker did with one user.

    ranker, user, measure : their names
    impressions : numbers of impressions after which the ranker was measured
    held_out : (runs, points) the measure on held-out queries, on which nobody clicked
    online : (runs,) the discounted sum of the measure of the lists that were shown: what users saw
        while the ranker learnt
    shown : (runs, impressions) the measure of each list that was shown
    """

    ranker: str
    user: str
    measure: str
    impressions: NDArray[np.int64]
    held_out: NDArray[np.float64]
    online: NDArray[np.float64]
    shown: NDArray[np.float64]

    @property
    def final(self) -> NDArray[np.float64]:
        """The measure on held-out queries at the end, by run."""
        return self.held_out[:, -1]

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        return {
            "ranker": self.ranker,
            "user": self.user,
            "measure": self.measure,
            "runs": len(self.online),
            "impressions": int(self.impressions[-1]),
            "final": float(self.final.mean()),
            "final_std": _spread(self.final),
            "online": float(self.online.mean()),
            "online_std": _spread(self.online),
            "curve": {
                str(n): float(value)
                for n, value in zip(self.impressions, self.held_out.mean(axis=0), strict=True)
            },
        }


def click_streams(
    parts: Sequence[tuple[QueryDataset, QueryDataset]],
    rankers: Mapping[str, OnlineRanker],
    users: Mapping[str, SimulatedUser],
    *,
    impressions: int = 10_000,
    runs: int = 1,
    k: int = 10,
    measure: str = "nDCG@10",
    points: int = 10,
    seed: int = 0,
    on_result: Callable[[ClickStream], None] | None = None,
) -> list[ClickStream]:
    """Let each ranker rank for each user, and measure what is shown and what is learnt.

    Parameters
    ----------
    parts : (queries to click on, held-out queries); run r takes part r, and starts again from the
        first one after the last
    rankers : by name; a ranker that is not for clicks learns from them by
        :class:`rankloop.clicks.rankers.from_clicks.FromClicks`
    users : by name
    impressions, runs : how many lists are shown in a run, and how many runs there are
    k : length of the lists
    measure : of what is shown and of held-out queries; shown queries without a relevant document
        score 0, held-out ones are left out
    points : how often held-out queries are measured, at impressions in equal ratios
    seed : random seed of queries, rankings and clicks, the same for all rankers and users
    on_result : called with each result when it is complete

    Examples
    --------
    >>> from rankloop.clicks.users import make_user
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.registry import make_ranker
    >>> data = separable(60, np.random.default_rng(0), n_grades=3).data
    >>> parts = [(data.select(slice(0, 40)), data.select(slice(40, 60)))]
    >>> users = {"perfect": make_user("perfect")}
    >>> rankers = {"pdgd": make_ranker("pdgd"), "newton": make_ranker("newton")}
    >>> found = click_streams(parts, rankers, users, impressions=500)
    >>> [(one.ranker, bool(one.final[0] > 0.7)) for one in found]
    [('pdgd', True), ('newton', True)]
    """
    check_counts(impressions=impressions, runs=runs, points=points)
    if not rankers or not users or not parts:
        raise DataError("give at least one ranker, one user and one part of the data")
    at = _milestones(impressions, points)
    streams = []
    for name, ranker in rankers.items():
        for user_name, user in users.items():
            held_out, shown = np.empty((runs, len(at))), np.empty((runs, impressions))
            for run in range(runs):
                held_out[run], shown[run] = click_run(
                    parts,
                    ranker,
                    user,
                    run,
                    impressions=impressions,
                    k=k,
                    measure=measure,
                    points=points,
                    seed=seed,
                )
            online = discount(shown)
            stream = ClickStream(name, user_name, str(parse(measure)), at, held_out, online, shown)
            if on_result is not None:
                on_result(stream)
            streams.append(stream)
    return streams


def click_run(
    parts: Sequence[tuple[QueryDataset, QueryDataset]],
    ranker: OnlineRanker,
    user: SimulatedUser,
    run: int,
    *,
    impressions: int = 10_000,
    k: int = 10,
    measure: str = "nDCG@10",
    points: int = 10,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Do one run of :func:`click_streams`, by its number from 0.

    Returns the measure on held-out queries at each point, and that of each list that was shown.
    """
    at = _milestones(impressions, points)
    held_out, shown = np.empty(len(at)), np.empty(impressions)
    train, test = parts[run % len(parts)]
    rng = np.random.default_rng([seed, run])
    test = test.shuffle(np.random.default_rng([seed, run, 1]))
    mine = for_clicks(ranker)
    for point, (first, end) in enumerate(zip(np.r_[0, at[:-1]], at, strict=True)):
        session = mine.play(train, user, rng, int(end - first), k)
        shown[first:end] = session.quality(train, measure)
        scores = mine.predict(test)  # type: ignore[attr-defined]
        held_out[point] = evaluate(test, scores, measure)[measure]
    return held_out, shown


def discount(shown: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return online performance: sums of (runs, impressions) of which later ones count less."""
    return np.asarray(shown @ DISCOUNT ** np.arange(shown.shape[-1]))


def _milestones(impressions: int, points: int) -> NDArray[np.int64]:
    """Return the numbers of impressions after which held-out queries are measured."""
    spaced = np.geomspace(min(10, impressions), impressions, points)
    return np.unique(spaced.round().astype(np.int64))


def held_out_parts(
    data: QueryDataset, runs: int = 1, seed: int = 0
) -> list[tuple[QueryDataset, QueryDataset]]:
    """Return queries to click on, and a fifth that is held out; each run draws new ones."""
    if len(data) < 2:
        raise DataError(f"there must be two queries or more, to hold one out; found {len(data)}")
    parts = []
    for run in range(runs):
        order = np.random.default_rng([seed, run, 2]).permutation(len(data))
        first = max(len(data) // 5, 1)
        parts.append((data.select(np.sort(order[first:])), data.select(np.sort(order[:first]))))
    return parts


def for_clicks(ranker: OnlineRanker) -> ClickRanker:
    """Return a copy that learns from clicks."""
    if isinstance(ranker, ClickRanker):
        return copy.deepcopy(ranker)
    return FromClicks(copy.deepcopy(ranker))


def _spread(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
