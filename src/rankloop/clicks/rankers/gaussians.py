"""The Gaussian rankers inside a ranker, such as the two of `auto`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rankloop.rankers.online.second_order import SecondOrderRanker

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.rankers.online.base import OnlineRanker

R = TypeVar("R", bound="OnlineRanker")


def parts_of(ranker: OnlineRanker) -> list[OnlineRanker]:
    """Return the rankers that score: those inside a wrapper or a mix, or the ranker itself."""
    inside = _inside(ranker)
    return [part for inner in inside for part in parts_of(inner)] if inside else [ranker]


def with_gaussians(ranker: R, change: Callable[[SecondOrderRanker], None]) -> R:
    """Return a copy whose Gaussians with a full covariance are copies that `change` has changed.

    The ranker itself stays as it is, and `change` must replace arrays, as everywhere.

    >>> from rankloop.rankers.online.newton import NewtonXENDCG
    >>> ranker = NewtonXENDCG().learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> def forget(gaussian):
    ...     gaussian.last_weights_ = 0 * gaussian.last_weights_
    >>> with_gaussians(ranker, forget).weights_.tolist(), bool(ranker.weights_[0] > 0)
    ([0.0, 0.0], True)
    """
    new = ranker.copy()
    known = vars(new)
    if "members_" in known:
        known["members_"] = [with_gaussians(member, change) for member in known["members_"]]
    elif "ranker_" in known:
        known["ranker_"] = with_gaussians(known["ranker_"], change)
    elif is_full_gaussian(new) and new.is_fitted:
        change(new)  # type: ignore[arg-type]
    return new


def is_full_gaussian(ranker: OnlineRanker) -> bool:
    """Whether a ranker is of second order and knows the whole covariance of its weights."""
    is_gaussian = isinstance(ranker, SecondOrderRanker) and ranker.covariance == "full"
    return is_gaussian and not ranker._n_wide  # type: ignore[attr-defined]


def _inside(ranker: OnlineRanker) -> list[OnlineRanker]:
    known = vars(ranker)
    if "members_" in known:
        return list(known["members_"])
    return [known["ranker_"]] if "ranker_" in known else []
