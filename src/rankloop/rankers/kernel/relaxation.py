"""Relaxation over blocks of rows: one kernel row per step, within a memory limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rankloop.rankers.base import Rows
    from rankloop.rankers.kernel.kernels import Kernel

    Floats = NDArray[np.float64]
    Steps = Callable[["Block", Rows], "Moves"]


@dataclass(frozen=True)
class Block:
    """Some samples, which are learnt one after the other.

    rows : the rows of the samples
    gram : products of their kernel vectors
    """

    rows: slice
    gram: Rows


@dataclass(frozen=True)
class Moves:
    """What a block does to the coefficients.

    step : the step of each sample, along its kernel vector
    passing : the sum of the steps after each sample of the block
    samples : number of samples
    lost : value of the criterion
    """

    step: Floats
    passing: Floats
    samples: float
    lost: float


@dataclass
class Samples:
    """The samples, and the documents that form a score.

    X : (n, d) samples
    support : (m, d) rows whose coefficients are learnt
    counts : (m,) how often each of them occurs
    """

    kernel: Kernel
    X: Rows
    support: Rows
    counts: Floats
    limit: int

    def __post_init__(self) -> None:
        self._held: Rows | None = None
        self._grams: dict[int, Rows] = {}
        if 4 * len(self.X) * len(self.support) <= self.limit:
            self._held = np.empty((len(self.X), len(self.support)), np.float32)

    def kernel_rows(self, rows: slice) -> Rows:
        """Return the kernel vectors of a block, from the stored matrix if it fits."""
        if self._held is None:
            return self.kernel(self.X[rows], self.support)
        if rows.start not in self._grams:
            self._held[rows] = self.kernel(self.X[rows], self.support)
        return self._held[rows]

    def products(self, rows: slice, K: Rows) -> Rows:
        """Return the products of kernel vectors with each other."""
        if rows.start not in self._grams:
            counts = self.counts.astype(np.float32)
            weighted = K if (counts == 1).all() else np.asarray(K * counts)
            self._grams[rows.start] = weighted @ K.T
        return self._grams[rows.start]


def one_pass(
    samples: Samples, blocks: list[slice], steps: Steps, last: Floats, total: Floats
) -> tuple[float, float]:
    """Learn once from every sample; add to `total` what `last` was after each of them.

    Returns the number of samples and the criterion. O(n m d) for kernels, O(n m) for the rest, and
    O(n m b) for products inside blocks of b, the first time only.
    """
    seen = lost = 0.0
    for rows in blocks:
        K = samples.kernel_rows(rows)
        scores = K @ (last * samples.counts).astype(np.float32)
        moves = steps(Block(rows, samples.products(rows, K)), scores)
        both = np.stack([moves.step, moves.passing]).astype(np.float32) @ K
        total += moves.samples * last + both[1]
        last += both[0]
        seen, lost = seen + moves.samples, lost + moves.lost
    return seen, lost


def relax_rows(
    block: Block, scores: Rows, *, low: Floats, high: Floats, counts: Floats, rate: float
) -> Moves:
    """Bring each sample's score between its bounds, one after the other.

    A sample of count w takes w steps of `rate` in a row.
    """
    low, high, counts = low[block.rows], high[block.rows], counts[block.rows]
    left = (1 - rate) ** counts  # of what a score falls short by, after its steps
    share = 1 - left
    whole = np.zeros(len(scores))
    lost = _core.relax_rows(block.gram, scores.astype(np.float64), low, high, share, whole)
    during = counts - (1 - rate) * share / rate
    after = counts.sum() - np.cumsum(counts)
    return Moves(whole * share, whole * (during + share * after), float(counts.sum()), lost)
