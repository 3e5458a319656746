"""What to do when the support set is full: which documents to remove, and how to adapt the rest.

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

from rankloop import _core
from rankloop._utils.arithmetic import dot, exp2, log2, row_pairs, total
from rankloop.exceptions import DataError
from rankloop.rankers.kernel.kernels import RBF

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.rankers.kernel.kernels import Kernel
    from rankloop.rankers.kernel.support import Removal, Support

    Places = NDArray[np.int64]

NEIGHBOURS = 16  # that a removed document is projected onto, or may be merged with
TOGETHER = 16  # removed at a time: their neighbours' kernels are one small matrix
RIDGE = 1e-5  # of the diagonal: equal neighbours share
SHARES = np.linspace(0, 1, 33)  # places on the line between two documents to merge at


def random(support: Support, excess: int) -> Places:
    """Choose at random; the choice depends only on the number of documents added so far."""
    rng = np.random.default_rng(support.added)
    return rng.choice(support.held, excess, replace=False)


def least_loss(support: Support, excess: int) -> Places:
    """Choose those whose removal changes f least."""
    rows, alphas = support.rows[: support.held], support.alphas[: support.held, 0]
    size = np.abs(alphas) * np.sqrt(np.maximum(support.kernel.diagonal(rows), 0))
    return np.lexsort((support.born[: support.held], size))[:excess]


def forgetron(support: Support, excess: int) -> Places:
    """Choose the oldest, and shrink all first, by the largest phi that bounds the damage.

    Removing g = sum alpha_i K(x_i, .) after shrinking by phi does damage of at most

        phi^2 (|g|^2 - 2 sum alpha_i f(x_i)) / unit + 2 phi sum abs(alpha_i)

    where the unit is the largest step ever taken. All damage together stays within 15/32 of all
    steps. For steps of 1 and K(x, x) = 1, this is the Forgetron of Dekel, Shalev-Shwartz and
    Singer (2008).
    """
    gone = np.argsort(support.born[: support.held], kind="stable")[:excess]
    alphas, rows = support.alphas[gone, 0], support.rows[gone]
    unit, steps, damage = support.ledger
    scores = support.scores(rows)[:, 0].astype(np.float64)
    own = row_pairs(support.kernel(rows, rows).astype(np.float64), alphas[None])[:, 0]
    square = (dot(alphas, own) - 2 * dot(alphas, scores)) / unit
    size, left = 2 * total(np.abs(alphas)), 15 / 32 * steps - damage
    phi = 1.0
    if square + size > left:
        phi = 2 * left / (size + np.sqrt(size * size + 4 * square * left))
    support.alphas[: support.held, 0] *= phi
    support.ledger[2] += phi * phi * square + phi * size
    return gone


def projection(support: Support, excess: int) -> Places:
    """Choose as `least-loss`; neighbours take over the part of each that lies in their span."""
    gone, kept = _split_parts(support, least_loss(support, excess))
    for some in np.array_split(gone, -(-len(gone) // TOGETHER)):
        near = _nearest(support, some, kept)
        places, where = np.unique(near, return_inverse=True)
        where = where.reshape(near.shape)
        rows = support.rows[places]
        own = support.kernel(rows, rows)[where[:, :, None], where[:, None, :]].astype(np.float64)
        each = np.arange(near.shape[1])
        own[:, each, each] = support.kernel.diagonal(rows)[where] * (1 + RIDGE)
        own[:, each, each] += np.finfo(np.float32).tiny  # a row of 0 is no neighbour
        with_it = support.kernel(support.rows[some], rows).astype(np.float64)
        shares = np.take_along_axis(with_it, where, axis=1)
        _core.solve_definite(own, shares)
        np.add.at(support.alphas, near, shares[:, :, None] * support.alphas[some][:, None, :])
    return gone


def merging(support: Support, excess: int) -> Places:
    """Choose as `least-loss`; merge each with a neighbour of the same sign, if it has one.

    Rows x and z with coefficients a and b become h x + (1 - h) z with a k^(1-h)^2 + b k^h^2, where
    k = K(x, z): for an RBF kernel that is the best coefficient at that place. The neighbour and h
    are those that lose least.
    """
    gone, kept = _split_parts(support, least_loss(support, excess))
    rows, alphas = support.rows, support.alphas
    for place, neighbours in zip(gone, _nearest(support, gone, kept), strict=True):
        alike = neighbours[alphas[neighbours, 0] * alphas[place, 0] > 0]
        if not len(alike):
            continue
        k = support.kernel(rows[alike], rows[place : place + 1]).astype(np.float64)
        bits = log2(np.maximum(k, np.finfo(np.float32).tiny))
        here, there = exp2(bits * (1 - SHARES) ** 2), exp2(bits * SHARES**2)
        own, other = alphas[place, 0], alphas[alike, :1]
        merged = own * here + other * there
        lost = own * own + other * other + 2 * own * other * k - merged * merged
        i, h = np.unravel_index(lost.argmin(), lost.shape)
        share = np.float32(SHARES[h])
        alphas[alike[i]] = alphas[place] * here[i, h] + alphas[alike[i]] * there[i, h]
        rows[alike[i]] = share * rows[place] + (1 - share) * rows[alike[i]]
    return gone


REMOVALS: Mapping[str, Removal] = MappingProxyType(
    {
        "forgetron": forgetron,
        "random": random,
        "least-loss": least_loss,
        "projection": projection,
        "merging": merging,
    }
)
"""Every way to stay within a budget, by its name."""


def removal_by_name(name: str, kernel: Kernel) -> Removal:
    """Find a removal rule by its name; raise if it does not work with the kernel."""
    if not isinstance(name, str) or name not in REMOVALS:
        raise DataError(f"removal must be one of {', '.join(REMOVALS)}; found {name!r}")
    if name == "merging" and not isinstance(kernel, RBF):
        raise DataError(
            f"removal=merging needs an rbf kernel; found {kernel}: use removal=projection"
        )
    return REMOVALS[name]


def _split_parts(support: Support, gone: Places) -> tuple[Places, Places]:
    kept = np.ones(support.held, bool)
    kept[gone] = False
    return gone, np.flatnonzero(kept)


def _nearest(support: Support, gone: Places, kept: Places) -> Places:
    """Return, for each place to remove, the kept places with the most similar kernel functions."""
    rows = support.rows
    like = np.abs(support.kernel(rows[gone], rows[kept]))
    like /= np.sqrt(np.maximum(support.kernel.diagonal(rows[kept]), np.finfo(np.float32).tiny))
    few = min(NEIGHBOURS, len(kept))
    return np.asarray(kept[_core.largest_places(like, few)])
