"""Reads trees that LightGBM, XGBoost or CatBoost wrote, and writes them as LightGBM does."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.boosting.catboost import read_catboost
from rankloop.rankers.boosting.trees import Tree, trees_of_text
from rankloop.rankers.boosting.ubjson import parse_ubjson

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_STRANGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_UBJSON = tuple(b"{" + mark for mark in (b"L", b"l", b"I", b"U", b"i", b"$", b"#"))
_NAN_MISSING, _LEFT, _CATEGORICAL = 8, 2, 1
_IDENTITY = ("rank:", "reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror")
_LOGISTIC = ("binary:logistic", "reg:logistic", "binary:logitraw")


@dataclass(frozen=True)
class Forest:
    """Trees with what is known about their features.

    names : of the features; empty if the model has none
    averaged : whether the trees are averaged, not summed
    """

    trees: tuple[Tree, ...]
    n_features: int
    names: tuple[str, ...] = ()
    averaged: bool = False


def read_forest(content: bytes) -> Forest:
    """Return the trees of a model: LightGBM's text, XGBoost's JSON or UBJ, or CatBoost's JSON.

    Of a model that XGBoost stopped early, these are the trees up to its best round, which XGBoost
    itself uses.
    """
    if content.startswith(b"CBM1"):
        raise ModelError(
            "this is CatBoost's binary form; save the model as JSON: "
            "model.save_model('model.json', format='json')"
        )
    try:
        if content.startswith(_UBJSON):
            return _xgboost(parse_ubjson(content))
        text = content.decode()
        if text.lstrip().startswith("{"):
            record = json.loads(text)
            return _xgboost(record) if "learner" in record else _catboost(record)
        if text.startswith("tree\n"):
            return _lightgbm(text)
    except _STRANGE as error:
        if isinstance(error, DataError):
            raise
        raise ModelError(f"the model is damaged or of another format: {error!r}") from None
    raise ModelError(
        "this is neither a model that LightGBM wrote as text (save_model), nor one that XGBoost "
        "wrote as JSON or UBJ (save_model('model.json')), nor one that CatBoost wrote as JSON"
    )


def _lightgbm(text: str) -> Forest:
    head = text.partition("\nTree=0\n")[0]
    header = dict(line.split("=", 1) for line in head.split("\n") if "=" in line)
    if header.get("num_tree_per_iteration", "1") != "1":
        raise DataError("this model has several classes; a ranker has one score per document")
    trees, averaged = trees_of_text(text)
    names = tuple(header["feature_names"].split(" "))
    given = not all(name == f"Column_{j}" for j, name in enumerate(names))
    return Forest(trees, len(names), names if given else (), averaged)


def _xgboost(record: dict[str, Any]) -> Forest:
    ranker = record["learner"]
    booster, parameters = ranker["gradient_booster"], ranker["learner_model_param"]
    if booster["name"] != "gbtree":
        raise DataError(
            f"only trees (gbtree) can be imported from XGBoost; found {booster['name']}"
        )
    if int(parameters.get("num_class", 0)) > 1 or int(parameters.get("num_target", 1)) > 1:
        raise DataError("this model has several outputs; a ranker has one score per document")
    width = int(parameters["num_feature"])
    model = booster["model"]
    start = _start(str(parameters["base_score"]), ranker["objective"]["name"])
    trees = [_leaf(start), *map(_xgboost_tree, model["trees"][: _best_trees(ranker, model)])]
    return Forest(tuple(trees), width, tuple(ranker.get("feature_names") or ()))


def _best_trees(ranker: dict[str, Any], model: dict[str, Any]) -> int:
    """Return the number of trees up to the best round, or of all without early stopping."""
    best = ranker.get("attributes", {}).get("best_iteration")
    if best is None:
        return len(model["trees"])
    starts = model.get("iteration_indptr")
    if starts is not None:
        return int(starts[int(best) + 1])
    per_round = max(int(model["gbtree_model_param"].get("num_parallel_tree", 1)), 1)
    return (int(best) + 1) * per_round


def _catboost(record: dict[str, Any]) -> Forest:
    trees, width, names = read_catboost(record)
    return Forest(tuple(trees), width, names)


def _start(text: str, objective: str) -> float:
    """Return what XGBoost adds to all scores before the trees."""
    base = float(text.strip("[]"))
    if objective.startswith(_IDENTITY):
        return base
    if objective in _LOGISTIC:
        return math.log(base / (1 - base))
    raise DataError(
        f"models of the objective {objective!r} cannot be imported; those of rank:..., "
        "reg:squarederror and binary:logistic can"
    )


def _leaf(value: float) -> Tree:
    none = np.zeros(0, np.int64)
    return Tree(none, np.zeros(0), none, none, np.zeros(0, bool), np.array([value]), {})


def _xgboost_tree(record: dict[str, Any]) -> Tree:
    """Return a tree numbered as LightGBM does; x < t becomes x <= the float32 below t."""
    if any(record.get("split_type", ())):
        raise DataError("splits by category cannot be imported from XGBoost; encode them first")
    left, right = record["left_children"], record["right_children"]
    order: list[int] = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if len(order) > len(left):
            raise ModelError("the nodes do not form a tree")
        if left[node] >= 0:
            waiting += [right[node], left[node]]
    splits = [node for node in order if left[node] >= 0]
    leaves = [node for node in order if left[node] < 0]
    number = {node: k for k, node in enumerate(splits)} | {n: ~k for k, n in enumerate(leaves)}
    conditions = np.array(record["split_conditions"], np.float32)
    return Tree(
        np.array([record["split_indices"][node] for node in splits], np.int64),
        np.nextafter(conditions[splits], np.float32(-np.inf)).astype(np.float64),
        np.array([number[left[node]] for node in splits], np.int64),
        np.array([number[right[node]] for node in splits], np.int64),
        np.array([record["default_left"][node] for node in splits], bool),
        conditions[leaves].astype(np.float64),
        {},
    )


def as_lightgbm(forest: Forest) -> str:
    """Write trees as LightGBM does; what it knows besides scores, such as counts, is 0."""
    blocks = [
        "\n".join((f"Tree={k}", *_lines(tree), "", "", "")) for k, tree in enumerate(forest.trees)
    ]
    columns = " ".join(f"Column_{j}" for j in range(forest.n_features))
    header = [
        *("tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0"),
        f"max_feature_idx={forest.n_features - 1}",
        "objective=custom",
        *(["average_output"] if forest.averaged else []),
        f"feature_names={columns}",
        f"feature_infos={' '.join(['none'] * forest.n_features)}",
        f"tree_sizes={' '.join(str(len(block)) for block in blocks)}",
    ]
    return "\n".join((*header, "", "".join(blocks) + "end of trees", ""))


def _lines(tree: Tree) -> Iterator[str]:
    n, leaves = tree.splits, len(tree.value)
    numbers = {split: k for k, split in enumerate(tree.members)}
    kinds = [
        _CATEGORICAL if k in numbers else _NAN_MISSING + _LEFT * int(tree.nan_left[k])
        for k in range(n)
    ]
    thresholds = [numbers.get(k, float(tree.threshold[k])) for k in range(n)]
    yield f"num_leaves={leaves}"
    yield f"num_cat={len(numbers)}"
    yield _line("split_feature", tree.feature.tolist())
    yield _line("split_gain", [0] * n)
    yield _line("threshold", thresholds)
    yield _line("decision_type", kinds)
    yield _line("left_child", tree.left.tolist())
    yield _line("right_child", tree.right.tolist())
    yield _line("leaf_value", tree.value.tolist())
    yield _line("leaf_weight", [0] * leaves)
    yield _line("leaf_count", [0] * leaves)
    for name in ("internal_value", "internal_weight", "internal_count"):
        yield _line(name, [0] * n)
    if numbers:
        words = [_words(members) for members in tree.members.values()]
        yield _line("cat_boundaries", np.cumsum([0, *map(len, words)]).tolist())
        yield _line("cat_threshold", [word for some in words for word in some])
    yield "is_linear=0"
    yield "shrinkage=1"


def _line(name: str, values: Sequence[float]) -> str:
    return f"{name}={' '.join(map(repr, values))}"


def _words(members: tuple[int, ...]) -> list[int]:
    bits = sum(1 << member for member in members)
    return [bits >> 32 * k & 0xFFFFFFFF for k in range((bits.bit_length() + 31) // 32)]
