"""Solr's learning to rank: `LinearModel`, or `MultipleAdditiveTreesModel` (Solr 9.2 or newer).

Solr scores in float32, and adds 1e-6 to a threshold when it reads it, so we write the float32 whose
sum with 1e-6 is ours. Below about 1e-3 there may be none; then we write that with the nearest sum,
and `--verify` shows whether a row lies between.
"""

from __future__ import annotations

import json
import warnings
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankloop.export.plain import WeightedSum, find_leaf_values, plain_form
from rankloop.rankers.boosting.trees import float32_at_most

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.export.plain import Exported, Halves
    from rankloop.export.program import Program, Trees
    from rankloop.rankers.boosting.trees import Tree

    Singles = NDArray[np.float32]

_SLACK = np.float32(1e-6)
_CLOSE = 0.01
_ZERO = 1.1e-35
"""LightGBM writes 1e-35 for a split beside 0; the sign is kept there, which is all that matters."""
_MODELS = "org.apache.solr.ltr.model"
_NORMALISER = "org.apache.solr.ltr.norm.StandardNormalizer"


def render(program: Program, name: str = "rankloop") -> str:
    """Return the model as Solr's model store takes it."""
    form = plain_form(program, "Solr")
    if isinstance(form, WeightedSum):
        body = _linear(form, program.features)
    else:
        body = _trees(form, program.features)
    return json.dumps({"name": name, **body}, indent=2, allow_nan=False) + "\n"


def _linear(form: WeightedSum, names: Sequence[str]) -> dict[str, object]:
    features = []
    for name, mean, deviation in zip(names, form.means, form.deviations, strict=True):
        feature: dict[str, object] = {"name": name}
        if deviation:
            params = {"avg": repr(float(mean)), "std": repr(float(deviation))}
            feature["norm"] = {"class": _NORMALISER, "params": params}
        features.append(feature)
    weights = dict(zip(names, form.weights.tolist(), strict=True))
    return {
        "class": f"{_MODELS}.LinearModel",
        "features": features,
        "params": {"weights": weights},
    }


def _trees(form: Trees, names: Sequence[str]) -> dict[str, object]:
    _warn_of_small_scales(form, names)
    trees = [
        {"weight": "1", "root": _tree(tree, names, 0 if tree.splits else -1)} for tree in form.trees
    ]
    return {
        "class": f"{_MODELS}.MultipleAdditiveTreesModel",
        "features": [{"name": name} for name in names],
        "params": {"isNullSameAsZero": False, "trees": trees},
    }


def _warn_of_small_scales(form: Trees, names: Sequence[str]) -> None:
    """Warn of features so small that the 1e-6 which Solr adds to thresholds moves rows."""
    moved = set()
    for tree in form.trees:
        for feature, wanted in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True):
            threshold = float32_at_most(float(wanted))
            found = less_slack(threshold) + _SLACK
            if abs(wanted) > _ZERO and abs(float(found) - float(threshold)) > _CLOSE * abs(wanted):
                moved.add(names[feature])
    if moved:
        warnings.warn(
            "Solr adds 1e-6 to each threshold, which is too much for the small values of "
            f"{', '.join(map(repr, sorted(moved)[:5]))}: rows may reach other leaves; multiply "
            "these features by a constant before training, and verify the export",
            stacklevel=2,
        )


def _tree(tree: Tree, names: Sequence[str], node: int) -> dict[str, object]:
    if node < 0:
        return {"value": repr(float(tree.value[~node]))}
    return {
        "feature": names[tree.feature[node]],
        "threshold": repr(float(less_slack(float32_at_most(float(tree.threshold[node]))))),
        "missing": "left" if tree.nan_left[node] else "right",
        "left": _tree(tree, names, int(tree.left[node])),
        "right": _tree(tree, names, int(tree.right[node])),
    }


def less_slack(threshold: np.float32) -> np.float32:
    """Return a float32 whose float32 sum with 1e-6 is the threshold, or else nearest to it.

    The sum is always on the same side of 0, which many rows have as a value.

    >>> float(less_slack(np.float32(0.5)) + _SLACK)
    0.5
    >>> bool(less_slack(np.float32(-1e-35)) + _SLACK < 0)
    True
    """
    start = np.float32(threshold - _SLACK)
    near = [start]
    for way in (-np.inf, np.inf):
        at = start
        for _ in range(4):
            at = np.nextafter(at, np.float32(way))
            near.append(at)
    same_side = [s for s in near if (s + _SLACK >= 0) == (threshold >= 0)]
    return min(same_side, key=lambda s: abs(float(s + _SLACK) - float(threshold)))


def twin(content: str, names: Sequence[str], X: Singles) -> Singles:
    """Score rows as Solr does, in float32."""
    model = json.loads(content)
    total = np.zeros(len(X), np.float32)
    if model["class"].endswith("LinearModel"):
        for j, feature in enumerate(model["features"]):
            x = np.asarray(X[:, j], np.float32)
            if "norm" in feature:
                params = {k: np.float32(v) for k, v in feature["norm"]["params"].items()}
                x = (x - params["avg"]) / params["std"]
            total += x * np.float32(model["params"]["weights"][feature["name"]])
        return total
    place = {name: j for j, name in enumerate(names)}
    for tree in model["params"]["trees"]:
        weight = np.float32(tree["weight"])
        leaves = find_leaf_values(tree["root"], X, "value", partial(_split, place))
        total += weight * leaves.astype(np.float32)
    return total


def _split(place: dict[str, int], node: Exported, X: Singles, rows: NDArray[np.int64]) -> Halves:
    x = X[rows, place[node["feature"]]]
    known = x <= np.float32(node["threshold"]) + _SLACK
    left = np.where(np.isnan(x), node["missing"] == "left", known)
    return left, node["left"], node["right"]
