"""Trees as arrays: one form for all targets, read from LightGBM's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_LARGEST, _WIDEST = (float(np.finfo(kind).max) for kind in (np.float32, np.float64))
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_NO_MISSING, _ZERO_IS_MISSING = 0, 1


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree; node k is a split, and a child below 0 is the leaf ~k.

    feature, threshold, left, right : of each split: a document goes left if its feature is at most
        the threshold
    nan_left : of each split: whether a missing value goes left
    members : for some splits, the categories that go left, instead of a threshold
    value : of each leaf
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    nan_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    members: dict[int, tuple[int, ...]]

    @property
    def splits(self) -> int:
        """The number of splits."""
        return len(self.feature)

    def leaves(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the leaf that each row reaches. Cost: O(depth) operations on arrays."""
        at = np.zeros(len(X), np.int64) if self.splits else np.full(len(X), -1)
        for _ in range(self.splits):
            moving = np.flatnonzero(at >= 0)
            if not len(moving):
                break
            node = at[moving]
            x = X[moving, self.feature[node]]
            go_left = np.where(np.isnan(x), self.nan_left[node], x <= self.threshold[node])
            for split, categories in self.members.items():
                here = node == split
                with np.errstate(invalid="ignore"):
                    whole = np.where(np.isnan(x[here]), -1, x[here]).astype(np.int64)
                go_left[here] = np.isin(whole, categories)
            at[moving] = np.where(go_left, self.left[node], self.right[node])
        return ~at


def float32_at_most(threshold: float) -> np.float32:
    """Return the largest float32 that is at most the threshold.

    A float32 is at most the threshold if and only if it is at most this.

    >>> float(float32_at_most(0.1)) <= 0.1 < float(np.nextafter(float32_at_most(0.1), np.inf))
    True
    """
    if threshold >= _LARGEST:
        return np.float32(_LARGEST)
    near = np.float32(threshold)
    return np.nextafter(near, np.float32(-np.inf)) if float(near) > threshold else near


def float32_above(threshold: float) -> float:
    """Return the smallest float32 above the threshold; twice the largest one if there is none.

    >>> float32_above(1.0) == 1.0 + 2.0**-23
    True
    """
    low = float32_at_most(threshold)
    return 2 * _LARGEST if low == _LARGEST else float(np.nextafter(low, np.float32(np.inf)))


def trees_of_text(text: str) -> tuple[tuple[Tree, ...], bool]:
    """Return the trees of a model that LightGBM wrote, and whether it averages them."""
    averaged = "\naverage_output\n" in text.partition("\nTree=0\n")[0]
    return tuple(map(_tree, _blocks(text))), averaged


def _blocks(text: str) -> Iterator[dict[str, str]]:
    body = text.partition("\nend of trees\n")[0]
    for block in body.split("\nTree=")[1:]:
        lines = (line.partition("=") for line in block.split("\n")[1:] if "=" in line)
        yield {name: value for name, _, value in lines}


def _tree(block: dict[str, str]) -> Tree:
    if block.get("is_linear", "0") == "1":
        raise DataError(
            "these trees have linear functions in their leaves, which no target supports; train "
            "without linear_tree"
        )
    numbers: dict[str, NDArray[Any]] = {
        name: np.array(block.get(name, "").split(), object).astype(kind)
        for name, kind in (
            ("split_feature", np.int64),
            ("threshold", np.float64),
            ("left_child", np.int64),
            ("right_child", np.int64),
            ("decision_type", np.int64),
            ("leaf_value", np.float64),
        )
    }
    kinds, thresholds = numbers["decision_type"], numbers["threshold"]
    categorical = kinds & _CATEGORICAL > 0
    missing = kinds >> 2 & 3
    if (~categorical & (missing == _ZERO_IS_MISSING)).any():
        raise DataError(
            "these trees treat 0 as a missing value, which the targets do not; train without "
            "zero_as_missing"
        )
    nan_left = np.where(missing == _NO_MISSING, thresholds >= 0, kinds & _DEFAULT_LEFT > 0)
    return Tree(
        numbers["split_feature"],
        np.where(categorical, 0.0, np.clip(thresholds, -_WIDEST, _WIDEST)),
        numbers["left_child"],
        numbers["right_child"],
        nan_left & ~categorical,
        numbers["leaf_value"],
        _members(block, thresholds, np.flatnonzero(categorical)),
    )


def _members(
    block: dict[str, str], thresholds: NDArray[np.float64], splits: NDArray[np.int64]
) -> dict[int, tuple[int, ...]]:
    """Return the categories that go left, for each split by category."""
    if not len(splits):
        return {}
    bounds = [int(word) for word in block["cat_boundaries"].split()]
    words = [int(word) for word in block["cat_threshold"].split()]
    leaves = {}
    for split in splits.tolist():
        first, end = bounds[int(thresholds[split])], bounds[int(thresholds[split]) + 1]
        bits = sum(word << 32 * k for k, word in enumerate(words[first:end]))
        leaves[split] = tuple(k for k in range(bits.bit_length()) if bits >> k & 1)
    return leaves
