"""Losses by name: ours, your own, and those of installed packages."""

from __future__ import annotations

from typing import TypeAlias

from rankloop._utils.names import check_name, find_entry_points, unknown_name_error
from rankloop.exceptions import DataError
from rankloop.losses.base import Loss
from rankloop.losses.listnet import ListNetLoss
from rankloop.losses.pairwise import PairwiseHinge, PairwiseLogistic
from rankloop.losses.xendcg import XENDCGLoss

Named: TypeAlias = "Loss | type[Loss]"

_BUILT_IN: dict[str, Loss] = {
    "squared-hinge": PairwiseHinge(squared=True),
    "logistic": PairwiseLogistic(),
    "listnet": ListNetLoss(),
    "xendcg": XENDCGLoss(),
}
_registered: dict[str, Loss] = {}
ENTRY_POINTS = "rankloop.losses"
"""The group of entry points with which an installed package provides losses."""


def register_loss(name: str, loss: Named) -> Loss:
    """Register your own loss under a name, for every ranker that takes a loss by its name.

    Installed packages need not call this: an entry point `name = "module:MyLoss"` in the group
    `rankloop.losses` is found when its name is used.

    Parameters
    ----------
    name : the name, of small letters, digits and hyphens
    loss : an object with `value`, `gradient`, `smooth` and `convex` (see :class:`Loss`), or a class
        that makes one without arguments; a registered name gets the new loss
    """
    check_name("loss", name)
    if name in _BUILT_IN:
        raise DataError(f"{name!r} is the name of a built-in loss; use another name")
    instance = loss() if isinstance(loss, type) else loss
    if not isinstance(instance, Loss):
        raise DataError(
            f"a loss must have value, gradient, smooth and convex; found {instance!r} for {name!r}"
        )
    _registered[name] = instance
    return instance


def loss_names() -> tuple[str, ...]:
    """Return the names of all losses: built-in, registered, and of installed packages.

    >>> loss_names()[:4]
    ('squared-hinge', 'logistic', 'listnet', 'xendcg')
    """
    return tuple(dict.fromkeys((*_BUILT_IN, *_registered, *find_entry_points(ENTRY_POINTS))))


def find_loss(name: str) -> Loss:
    """Find a loss by its name.

    >>> find_loss("squared-hinge")
    PairwiseHinge(squared=True)
    """
    for known in (_BUILT_IN, _registered):
        if name in known:
            return known[name]
    if name in find_entry_points(ENTRY_POINTS):
        return register_loss(name, find_entry_points(ENTRY_POINTS)[name].load())
    raise unknown_name_error("loss", name, loss_names())


def smooth_loss(name: str) -> Loss:
    """Find a loss by its name; raise if it is not smooth, because it has no derivative then."""
    loss = find_loss(name)
    if not loss.smooth:
        raise DataError(f"the loss {name!r} is not smooth, but this ranker needs its derivative")
    return loss
