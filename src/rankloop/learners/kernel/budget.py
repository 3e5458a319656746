"""What to do when the support set is full: whom to remove, and what becomes of the rest.

============== ====================================================================== ============
name           removes                                                                 cost
============== ====================================================================== ============
`forgetron`    the oldest, after shrinking all so that the damage stays bounded        O(B d)
`random`       any                                                                     O(B)
`least-loss`   those whose removal changes f least: small abs(alpha) sqrt(K(x, x))     O(B log B)
`projection`   the same, and projects what they did onto their nearest neighbours      O(B d)
`merging`      the same, and merges each with one neighbour into one new row (RBF)     O(B d)
============== ====================================================================== ============

Costs are for one document removed from B of d features.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.learners.kernel.kernels import RBF

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.learners.kernel.kernels import Kernel
    from rankloop.learners.kernel.support import Removal, Support

    Places = NDArray[np.int64]

NEIGHBOURS = 16  # that a removed document is projected onto, or may be merged with
RIDGE = 1e-5  # of the diagonal: equal neighbours share
SHARES = np.linspace(0, 1, 33)  # places on the line between two documents to merge at


def random(support: Support, excess: int) -> Places:
    """Choose any; the choice depends on how many were ever added, and on nothing else."""
    rng = np.random.default_rng(support.added)
    return rng.choice(support.held, excess, replace=False)


def least_loss(support: Support, excess: int) -> Places:
    """Choose those whose removal changes f least."""
    rows, alphas = support.rows[: support.held], support.alphas[: support.held, 0]
    size = np.abs(alphas) * np.sqrt(np.maximum(support.kernel.diagonal(rows), 0))
    return np.lexsort((support.born[: support.held], size))[:excess]


def forgetron(support: Support, excess: int) -> Places:
    """Shrink all by the largest phi that keeps the damage within 15/32 of the steps; then the oldest.

    Removing g = sum alpha_i K(x_i, .) after shrinking by phi does damage of at most

        phi^2 (|g|^2 - 2 sum alpha_i f(x_i)) / unit + 2 phi sum abs(alpha_i)

    where the unit is the largest step ever taken. For steps of 1 and K(x, x) = 1 this is the
    Forgetron of Dekel, Shalev-Shwartz and Singer (2008), eq. 10.
    """
    gone = np.argsort(support.born[: support.held])[:excess]
    alphas, rows = support.alphas[gone, 0], support.rows[gone]
    unit, steps, damage = _ledger(support)
    square = (alphas @ support.kernel(rows, rows) @ alphas) - 2 * alphas @ support.scores(rows)[:, 0]
    square, size, room = square / unit, 2 * np.abs(alphas).sum(), 15 / 32 * steps - damage
    phi = 1.0
    if square + size > room:
        phi = 2 * room / (size + np.sqrt(max(size**2 + 4 * square * room, 0)))
    support.alphas[: support.held, 0] *= phi
    _write(support, unit, steps, damage + phi**2 * square + phi * size)
    return gone


def _ledger(support: Support) -> tuple[float, float, float]:
    """Return the unit, the sum of steps with those just added, and the damage so far."""
    unit, steps, damage = support.ledger.tolist() if support.ledger is not None else (0.0, 0.0, 0.0)
    new = np.abs(support.alphas[: support.held, 0])[support.born[: support.held] >= 0]
    return max(unit, float(new.max(initial=0))) or 1.0, steps, damage
