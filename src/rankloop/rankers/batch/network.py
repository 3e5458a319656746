"""A network with one hidden layer of tanh units: its objective on a data set, and the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.losses.whole import WholeLoss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats, Loss
    from rankloop.rankers.base import Rows
    from rankloop.rankers.explaining import Parts

_ROWS = 8192


class Network:
    """f(w, b, V) = (|w|^2 + |V|^2) / 2 + C sum of the loss over queries, s = tanh(X V + b) w.

    Notes
    -----
    Cost: O(n d hidden) per call, in addition to the loss; O(n hidden) memory.
    """

    def __init__(self, data: QueryDataset, loss: Loss, C: float, hidden: int) -> None:
        self._data, self._C, self._hidden = data, C, hidden
        self._whole = WholeLoss(loss, data)

    def at(self, packed: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient."""
        w, b, V = self.unpack(packed)
        units = hidden_units(self._data.X, V, b)
        value, slope = self._whole.at(units @ w)
        pull = self._C * slope[:, None] * w * (1 - units**2)
        objective = (w @ w + (V * V).sum()) / 2 + self._C * value
        gradient = self.pack(
            w + self._C * (slope @ units),
            pull.sum(axis=0),
            V + _multiply_transposed(self._data.X, pull),
        )
        return float(objective), gradient

    @staticmethod
    def pack(w: Floats, b: Floats, V: Floats) -> Floats:
        """Put all parameters in one array."""
        return np.concatenate([w, b, V.ravel()])

    def unpack(self, packed: Floats) -> tuple[Floats, Floats, Floats]:
        """Return w, b and V."""
        h = self._hidden
        return packed[:h].copy(), packed[h : 2 * h].copy(), packed[2 * h :].reshape(-1, h).copy()


def hidden_units(X: Rows, V: Floats, b: Floats) -> Floats:
    """Return tanh(X V + b), summed in float64."""
    units = np.empty((len(X), V.shape[1]))
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        units[rows] = np.tanh(X[rows].astype(np.float64) @ V + b)
    return units


def _multiply_transposed(X: Rows, pull: Floats) -> Floats:
    """Return X' pull, summed in float64."""
    total = np.zeros((X.shape[1], pull.shape[1]))
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        total += X[rows].astype(np.float64).T @ pull[rows]
    return total


def explain_units(weights: Floats, bias: Floats, inner: Floats, names: Sequence[str]) -> Parts:
    """Return the hidden units with the weights of their features, largest first."""
    parts = []
    for k in np.argsort(-np.abs(weights), kind="stable"):
        order = np.argsort(-np.abs(inner[:, k]), kind="stable")
        features = {names[j]: float(inner[j, k]) for j in order}
        parts.append({"weight": float(weights[k]), "bias": float(bias[k]), "features": features})
    return parts
