"""Which order is shown: best first, explored, interleaved, or the caller's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloop import _core
from rankloop._utils import arithmetic
from rankloop.clicks.interleaving.base import make_rng
from rankloop.clicks.interleaving.team_draft import draft
from rankloop.feedback.ranking import BEST_FIRST, PLACKETT_LUCE
from rankloop.serving.engine.columns import arrange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.rankers.base import Ranker
    from rankloop.serving.engine.state import Published
    from rankloop.serving.experiments.experiment import ExperimentModels

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]


class Choice(NamedTuple):
    """An order, and how it was chosen. `order`, `propensities` and `teams` are by place."""

    order: Rows
    scores: Floats
    model: str
    version: int
    seen: int
    policy: str
    propensities: Floats | None = None
    teams: list[int] | None = None
    experiment: str | None = None


OWN_ORDER = "own-order"
"""The policy of a list that its user sorted, for example by price: its order is kept."""


def choose(
    now: Published,
    X: NDArray[np.float32],
    ranking_id: str,
    k: int,
    own_order: bool = False,
    names: tuple[str, ...] = (),
) -> Choice:
    """Choose the order of one ranking, by the models as they are now.

    All random choices follow from the ranking's id, so that the same request with the same id gets
    the same answer from the same models.

    Parameters
    ----------
    own_order : whether the user chose the order of the candidates; then it is kept, and the
        ranking is not part of an experiment
    names : of the columns of X, by default those of the settings; a model finds its own by name
    """
    settings = now.settings
    names = names or settings.names
    experiment = None if own_order or settings.policy == "apprentice" else now.experiment
    if experiment is not None and _takes_part(experiment, ranking_id):
        return _interleave(now, experiment, X, ranking_id, k, names)
    scores = score(now.models[now.champion], X, names)
    version = now.versions[now.champion]
    if own_order:
        order = np.arange(min(k, len(X)))
        return Choice(order, scores, now.champion, version, now.position, OWN_ORDER)
    if settings.policy == "apprentice":
        order = np.arange(min(k, len(X)))
        return Choice(order, scores, now.champion, version, now.position, "apprentice")
    if settings.policy == "plackett-luce":
        places = min(k, settings.explore_top)
        order, chances = plackett_luce(scores / settings.temperature, ranking_id, k, places)
        drawn = settings.temperature == 1 and places >= min(k, len(X))
        policy = PLACKETT_LUCE if drawn else f"{PLACKETT_LUCE} in part"
        return Choice(order, scores, now.champion, version, now.position, policy, chances)
    order = best_order(scores)[:k]
    return Choice(order, scores, now.champion, version, now.position, BEST_FIRST)


def score(model: Ranker, X: NDArray[np.float32], names: tuple[str, ...] = ()) -> Floats:
    """Return the scores of one query's candidates.

    Parameters
    ----------
    names : of the columns of X; empty if they are those of the model
    """
    if names and model.feature_names_in_:
        X = arrange(X, names, model.feature_names_in_)
    # `predict` makes a copy, because other threads may learn meanwhile; a published model never
    # changes.
    return np.asarray(model._predict(X, None, [len(X)]), np.float64)


def best_order(scores: Floats) -> Rows:
    """Return candidates by decreasing score; ties keep their order."""
    return _core.rank_rows(scores, np.array([0, len(scores)]), None, 1)


def plackett_luce(scores: Floats, ranking_id: str, k: int, places: int) -> tuple[Rows, Floats]:
    """Draw an order: each of the first places by a softmax of the scores that are left.

    The remaining places are best first. The second result is how likely each place was to
    get its candidate, given those above it.

    >>> order, chances = plackett_luce(np.array([0.0, 9.0, 0.0]), "r1", k=2, places=1)
    >>> order.tolist(), chances.round(3).tolist()
    ([1, 0], [1.0, 1.0])

    References
    ----------
    Plackett, The analysis of permutations (1975). Drawn by adding Gumbel noise to scores.
    """
    chance = make_rng(ranking_id).random(len(scores))
    noise = -arithmetic.log(-arithmetic.log(np.maximum(chance, 2.0**-53)))
    drawn = best_order(scores + noise)[:places]
    rest = best_order(scores)
    order = np.concatenate([drawn, rest[~np.isin(rest, drawn)]])[:k]
    weights = arithmetic.exp(scores - scores.max(initial=-np.inf)) if len(scores) else scores
    left = np.concatenate([weights[np.setdiff1d(rest, drawn)], weights[drawn][::-1]])
    below = np.cumsum(left)[::-1][: len(drawn)]  # one after the other: the same bits everywhere
    chances = np.ones(len(order))
    chances[: len(drawn)] = np.clip(weights[drawn] / np.maximum(below, 2.0**-1000), 1e-12, 1.0)
    return order, chances


def _takes_part(experiment: ExperimentModels, ranking_id: str) -> bool:
    """Tell whether a ranking is one of the share that an experiment interleaves."""
    return experiment.share >= 1 or make_rng(f"share {ranking_id}").random() < experiment.share


def _interleave(
    now: Published,
    experiment: ExperimentModels,
    X: NDArray[np.float32],
    ranking_id: str,
    k: int,
    names: tuple[str, ...],
) -> Choice:
    """Let champion and challengers, as the experiment has them, pick by turns."""
    live = now.models[now.champion]
    scores = [score(live if model is None else model, X, names) for model in experiment.models]
    orders = [best_order(model_scores).tolist() for model_scores in scores]
    shown, teams = draft(orders, make_rng(ranking_id), k)
    version = now.versions[now.champion] if experiment.models[0] is None else experiment.versions[0]
    return Choice(
        np.array(shown, np.int64),
        scores[0],
        experiment.names[0],
        version,
        now.position,
        "team-draft",
        None,
        teams,
        experiment.id,
    )
