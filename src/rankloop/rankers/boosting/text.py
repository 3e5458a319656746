"""Trees as LightGBM writes them, checked line by line before LightGBM reads them.

LightGBM trusts the text it reads: a child that is not a node, a count that is too large or a
truncated line makes it read outside its memory, or never stop. So text from a file is checked here
first, and anything that LightGBM would not have written is an error.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    from numpy.typing import NDArray

    S = TypeVar("S", bound=np.generic)

_INT = r"-?\d{1,10}"
_FLOAT = r"-?\d{1,30}(?:\.\d{1,30})?(?:e[+-]?\d{1,3})?"
_INTS = re.compile(rf"(?:{_INT}(?: {_INT})*)?")
_FLOATS = re.compile(rf"(?:{_FLOAT}(?: {_FLOAT})*)?")
_EDGE = rf"(?:{_FLOAT}|inf)"  # what is known goes left, what is missing right
_EDGES = re.compile(rf"(?:{_EDGE}(?: {_EDGE})*)?")
_ROUGH = re.compile(rf"(?:(?:{_FLOAT}|-?inf|-?nan)(?: (?:{_FLOAT}|-?inf|-?nan))*)?")
_HEADER = {
    "tree": r"",
    "version": r"v\d",
    "num_class": r"1",
    "num_tree_per_iteration": r"1",
    "label_index": r"0",
    "max_feature_idx": r"\d{1,8}",
    "objective": r"lambdarank|rank_xendcg|custom",
    "average_output": r"",
    "feature_names": r"\S+(?: \S+)*",
    "monotone_constraints": r"-?[01](?: -?[01])*",
    "feature_infos": r"[\w.:\[\]+-]+(?: [\w.:\[\]+-]+)*",
    "tree_sizes": r"\d{1,12}(?: \d{1,12})*",
}
_OPTIONAL = {"objective", "average_output", "monotone_constraints"}
_PARAMETER = re.compile(r"\[\w+: [^\\\"]*\]")
_IMPORTANCE = re.compile(r"\S+=\d+")
_AFTER = ("", "feature_importances:", "pandas_categorical:null")
_DEEPEST = 4096  # depth in splits: LightGBM explains a score by recursion


def check_trees(text: str, n_features: int) -> None:
    """Raise unless LightGBM can read these trees, and score rows of n_features features with them.

    Notes
    -----
    Cost: one pass; about a second for a million splits.
    """
    if "\0" in text or "\r" in text:
        raise _damage_error("it contains bytes that are not text")
    head, tree, rest = text.partition("\nTree=0\n")
    header = _header(head.removesuffix("\n"), n_features)
    body = (tree.lstrip("\n") + rest).encode()
    sizes = [int(size) for size in header["tree_sizes"].split(" ")]
    first = 0
    for number, size in enumerate(sizes):
        block = body[first : first + size]
        if len(block) != size or not block.isascii():
            raise _damage_error(
                f"the length of tree {number} is not the length given in the header"
            )
        _check_tree(number, block.decode(), n_features)
        first += size
    _check_end(body[first:].decode())


def _header(head: str, n_features: int) -> Mapping[str, str]:
    """Return the lines before the trees, by name."""
    header: dict[str, str] = {}
    for line in head.split("\n"):
        name, _, value = line.partition("=")
        if name in header or re.fullmatch(_HEADER.get(name, r"(?!)"), value) is None:
            raise _damage_error(f"its header has the line {line[:60]!r}")
        header[name] = value
    missing = _HEADER.keys() - _OPTIONAL - header.keys()
    if missing:
        raise _damage_error(f"its header has no {min(missing)}")
    known = int(header["max_feature_idx"]) + 1
    if known != n_features:
        raise ModelError(f"the trees expect {known} features, not {n_features}")
    for name in ("feature_names", "feature_infos", "monotone_constraints"):
        if name in header and len(header[name].split(" ")) != n_features:
            raise _damage_error(f"its header has a wrong number of {name}")
    return header


def _check_tree(number: int, block: str, n_features: int) -> None:
    lines = block.removesuffix("\n\n\n").split("\n")
    if not block.endswith("\n\n\n") or lines[0] != f"Tree={number}":
        raise _damage_error(f"tree {number} does not begin or end where it should")
    try:
        _Tree(lines[1:], n_features).check()
    except ModelError as error:
        raise _damage_error(f"tree {number}: {error}") from None


def _check_end(rest: str) -> None:
    """Check what follows the trees: importances, which are not read, and parameters, which are."""
    end, _, rest = rest.partition("\n")
    if end != "end of trees":
        raise _damage_error("it does not end after its trees")
    before, marker, parameters = rest.partition("\nparameters:\n")
    after = ""
    if marker:
        parameters, end, after = parameters.partition("\nend of parameters\n")
        lines = parameters.rstrip("\n").split("\n")
        if not end or not all(map(_PARAMETER.fullmatch, lines)):
            raise _damage_error("its parameters are truncated or invalid")
    for line in (before + "\n" + after).split("\n"):
        if line not in _AFTER and _IMPORTANCE.fullmatch(line) is None:
            raise _damage_error(f"after its trees it has the line {line[:60]!r}")


class _Tree:
    """One tree: node k is a split, or leaf ~k if k is below 0."""

    def __init__(self, lines: list[str], n_features: int) -> None:
        self._d = n_features
        self._values: dict[str, str] = {}
        for line in lines:
            name, equals, value = line.partition("=")
            if not equals or name in self._values:
                raise ModelError(f"it has the line {line[:60]!r}")
            self._values[name] = value
        self._leaves = int(self._ints("num_leaves", 1, low=1, high=2**20)[0])
        self._splits = self._leaves - 1

    def check(self) -> None:
        """Raise unless all lines are there and consistent with each other."""
        children = [self._ints(name, self._splits) for name in ("left_child", "right_child")]
        self._check_shape(*children)
        self._ints("split_feature", self._splits, low=0, high=self._d - 1)
        thresholds = self._floats("threshold", self._splits, _EDGES)
        kinds = self._ints("decision_type", self._splits, low=0, high=11)
        self._check_categories(thresholds, kinds % 2 == 1)
        self._floats("leaf_value", self._leaves)
        self._floats("shrinkage", 1)
        self._ints("leaf_count", self._leaves)
        self._ints("internal_count", self._splits)
        linear = self._ints("is_linear", 1, low=0, high=1)[0]
        # LightGBM does not read the weight of a tree that is one leaf, and writes it as nothing.
        forgotten = self._leaves == 1 and not linear and self._values.get("leaf_weight") == ""
        self._floats("leaf_weight", 0 if forgotten else self._leaves, _ROUGH)
        for name in ("split_gain", "internal_value", "internal_weight"):
            self._floats(name, self._splits, _ROUGH)
        if linear:
            self._check_linear()
        if self._values:
            raise ModelError(f"it has a line {min(self._values)!r}")

    def _check_shape(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        """Check that every node but the first, and every leaf, is the child of one earlier node."""
        below = np.concatenate([left, right])
        nodes, leaves = np.sort(below[below >= 0]), np.sort(~below[below < 0])
        whole = np.array_equal(nodes, np.arange(1, self._splits)) and (
            self._splits == 0 or np.array_equal(leaves, np.arange(self._leaves))
        )
        parents = np.tile(np.arange(self._splits), 2)
        if not whole or (below[below >= 0] <= parents[below >= 0]).any():
            raise ModelError("its nodes and leaves do not form a tree")
        depth = np.zeros(self._splits, np.int64).tolist()
        for node, pair in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            for child in pair:
                if child > 0:
                    depth[child] = depth[node] + 1
        if max(depth, default=0) >= _DEEPEST:
            raise ModelError(f"it is more than {_DEEPEST} splits deep")

    def _check_categories(
        self, thresholds: NDArray[np.float64], categorical: NDArray[np.bool_]
    ) -> None:
        """Check splits by category, where the threshold is the number of a set of categories."""
        sets = int(self._ints("num_cat", 1, low=0, high=self._splits)[0])
        if categorical.any() or sets:
            bounds = self._ints("cat_boundaries", sets + 1, low=0)
            words = self._ints("cat_threshold", int(bounds[-1]), low=0, high=2**32 - 1)
            if bounds[0] != 0 or any(b < a for a, b in pairwise(bounds)) or len(words) == 0:
                raise ModelError("its sets of categories are damaged")
        named = thresholds[categorical]
        if not np.isin(named, np.arange(sets)).all():
            raise ModelError("it splits by a set of categories that it does not have")

    def _check_linear(self) -> None:
        """Check linear leaves: each has some features with coefficients."""
        self._floats("leaf_const", self._leaves)
        counts = self._ints("num_features", self._leaves, low=0, high=self._d)
        for name in ("leaf_features", "leaf_coeff"):
            self._values[name] = " ".join(self._values.get(name, "?").split())
        self._ints("leaf_features", int(counts.sum()), low=0, high=self._d - 1)
        self._floats("leaf_coeff", int(counts.sum()))

    def _ints(
        self, name: str, count: int, low: int = -(2**31), high: int = 2**31 - 1
    ) -> NDArray[np.int64]:
        numbers = self._numbers(name, count, _INTS, np.int64)
        if ((numbers < low) | (numbers > high)).any():
            raise ModelError(f"{name} has a number that is not from {low} to {high}")
        return numbers

    def _floats(
        self, name: str, count: int, form: re.Pattern[str] = _FLOATS
    ) -> NDArray[np.float64]:
        numbers = self._numbers(name, count, form, np.float64)
        if form is _FLOATS and not np.isfinite(numbers).all():
            raise ModelError(f"{name} has a number that is not finite")
        return numbers

    def _numbers(self, name: str, count: int, form: re.Pattern[str], dtype: type[S]) -> NDArray[S]:
        """Take a line of numbers, and return them."""
        text = self._values.pop(name, None)
        if text is None or form.fullmatch(text) is None:
            raise ModelError(f"{name} is missing or damaged")
        words = text.split(" ") if text else []
        if len(words) != count:
            raise ModelError(f"{name} has {len(words)} numbers, not {count}")
        return np.array(words, object).astype(dtype)


def _damage_error(what: str) -> ModelError:
    return ModelError(f"the trees are damaged: {what}; get a complete copy")
