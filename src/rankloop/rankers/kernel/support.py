"""A support set: documents and their coefficients, in memory that is reserved once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils.arithmetic import row_pairs, total
from rankloop.rankers.kernel.blocks import kernel_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rankloop.rankers.base import Rows
    from rankloop.rankers.kernel.kernels import Kernel

    Floats = NDArray[np.float64]
    Removal = Callable[["Support", int], NDArray[np.int64]]

LARGE = 1e36  # beyond it, sums of float32 may overflow
ROOM = 128  # places beyond the budget, for new documents until others are removed


@dataclass
class Support:
    """The function f(x) = sum_k alpha_k K(x_k, x), and its sum over all queries so far.

    rows : (places, d) documents; those in use come first
    alphas : (places, 2) coefficients: now, and summed over queries
    born : (places,) the number of each document, in the order of adding
    held : number of places in use
    added : number of documents added so far
    ledger : the largest step, the sum of all steps, and the effect of removals (Forgetron)
    """

    kernel: Kernel
    rows: Rows
    alphas: Floats
    born: NDArray[np.int64]
    ledger: Floats
    held: int = 0
    added: int = 0

    @classmethod
    def empty(cls, kernel: Kernel, n_features: int, budget: int | None) -> Support:
        """Return an empty support set, with places for the budget if there is one."""
        places = ROOM + (budget or 0)
        return cls(
            kernel,
            np.zeros((places, n_features), np.float32),
            np.zeros((places, 2)),
            np.zeros(places, np.int64),
            np.zeros(3),
        )

    def copy(self) -> Support:
        """Return an independent copy."""
        return replace(
            self,
            rows=self.rows.copy(),
            alphas=self.alphas.copy(),
            born=self.born.copy(),
            ledger=self.ledger.copy(),
        )

    def scores(self, X: Rows) -> Rows:
        """Return f, and its sum over all queries so far, for each row: O(n held d)."""
        scores = np.zeros((len(X), 2), np.float32)
        rows, alphas = self.rows[: self.held], self.alphas[: self.held].astype(np.float32)
        if self.held:
            for block in kernel_blocks(len(X), self.held):
                values = self.kernel(X[block], rows)
                scores[block] = row_pairs(values, alphas.T)
                if not np.isfinite(scores[block]).all():  # products of very large rows
                    bounded = np.clip(np.nan_to_num(values), -LARGE, LARGE).astype(np.float64)
                    scores[block] = np.clip(row_pairs(bounded, alphas.T), -LARGE, LARGE)
        return scores

    def add(self, X: Rows, steps: Floats, budget: int | None, removal: Removal) -> None:
        """Add documents with their coefficients; remove some if they exceed the budget."""
        size = np.abs(steps)
        self.ledger[:2] = max(self.ledger[0], size.max(initial=0)), self.ledger[1] + total(size)
        if budget is None:
            self._grow(len(X))
        while len(X):
            some = len(X) if budget is None else len(self.rows) - self.held
            places = slice(self.held, self.held + min(some, len(X)))
            n = places.stop - places.start
            self.rows[places], self.alphas[places, 0], self.alphas[places, 1] = X[:n], steps[:n], 0
            self.born[places] = np.arange(self.added, self.added + n)
            self.held, self.added = self.held + n, self.added + n
            if budget is not None and self.held > budget:
                self.drop(removal(self, self.held - budget))
            X, steps = X[n:], steps[n:]

    def drop(self, gone: NDArray[np.int64]) -> None:
        """Free places; the last documents move there."""
        kept = np.ones(self.held, bool)
        kept[gone] = False
        held = int(kept.sum())
        holes, movers = np.flatnonzero(~kept[:held]), held + np.flatnonzero(kept[held:])
        for array in (self.rows, self.alphas, self.born):
            array[holes] = array[movers]
            array[held : self.held] = 0
        self.held = held

    def remember(self) -> None:
        """Add f to the sum over all queries."""
        self.alphas[: self.held, 1] += self.alphas[: self.held, 0]

    def _grow(self, n: int) -> None:
        """Double the places until n more fit."""
        places = len(self.rows)
        while places < self.held + n:
            places *= 2
        more = places - len(self.rows)
        if more:
            self.rows = np.pad(self.rows, ((0, more), (0, 0)))
            self.alphas = np.pad(self.alphas, ((0, more), (0, 0)))
            self.born = np.pad(self.born, (0, more))
