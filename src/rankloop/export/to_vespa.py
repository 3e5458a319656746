"""Vespa: trees as a LightGBM model, and linear rankers as a rank profile.

Vespa's importer reads `<` where LightGBM means `<=`, so thresholds are the next float32 above ours.
Its fast forests keep thresholds and leaves in float32 and add up in double; other expressions are
double. Features are functions or rank features of their names.
"""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.argument_names import argument
from rankloop.exceptions import DataError
from rankloop.export.plain import WeightedSum, find_leaf_values, plain_form, split_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.export.plain import Exported, Halves
    from rankloop.export.program import Program, Trees
    from rankloop.rankers.boosting.trees import Tree

    Floats = NDArray[np.float64]

_NAME = re.compile(r"[A-Za-z_]\w*")
_RANK_FEATURE = re.compile(r"[A-Za-z_]\w*(\([\w.,]*\))?(\.\w+)*")


def render(program: Program, name: str = "rankloop") -> str:
    """Return a LightGBM model in JSON, or a rank profile."""
    form = plain_form(program, "Vespa", logs=True)
    if isinstance(form, WeightedSum):
        return _profile(form, program.features, name)
    _check_names(program.features, _RANK_FEATURE)
    return _forest(form, program.features)


def _forest(form: Trees, names: Sequence[str]) -> str:
    trees = [
        {"tree_index": k, "tree_structure": _tree(tree, 0 if tree.splits else -1)}
        for k, tree in enumerate(form.trees)
    ]
    body = {
        "name": "tree",
        "objective": "lambdarank",
        "feature_names": list(names),
        "feature_infos": {},
        "tree_info": trees,
        "pandas_categorical": [],
    }
    return json.dumps(body, indent=2, allow_nan=False) + "\n"


def _tree(tree: Tree, node: int) -> dict[str, object]:
    if node < 0:
        return {"leaf_value": float(tree.value[~node])}
    return {
        "split_feature": int(tree.feature[node]),
        "threshold": split_below(float(tree.threshold[node])),
        "decision_type": "<=",
        "default_left": bool(tree.nan_left[node]),
        "missing_type": "NaN",
        "left_child": _tree(tree, int(tree.left[node])),
        "right_child": _tree(tree, int(tree.right[node])),
    }


def _check_names(names: Sequence[str], allowed: re.Pattern[str]) -> None:
    strange = [feature for feature in names if not allowed.fullmatch(feature)]
    if strange:
        raise DataError(
            f"{strange[0]!r} cannot be the name of a function in Vespa; give other names, of "
            f"letters and digits, with {argument('features')}"
        )


def _profile(form: WeightedSum, names: Sequence[str], name: str) -> str:
    _check_names(names, _NAME)
    terms = []
    for feature, weight, mean, deviation in zip(
        names, form.weights, form.means, form.deviations, strict=True
    ):
        if weight:
            x = (
                f"if ({feature} < 0, -log(1 - {feature}), log(1 + {feature}))"
                if form.logs
                else feature
            )
            scaled = f"({x} - {float(mean)!r}) / {float(deviation)!r}" if deviation else x
            terms.append(f"{float(weight)!r} * ({scaled})")
    joined = " +\n            ".join(terms or ["0"])
    return (
        f"rank-profile {name} {{\n    first-phase {{\n        expression {{\n"
        f"            {joined}\n        }}\n    }}\n}}\n"
    )


def twin(content: str, names: Sequence[str], X: NDArray[np.float32]) -> Floats:
    """Score rows as Vespa does."""
    place = {name: j for j, name in enumerate(names)}
    if content.startswith("rank-profile"):
        inner = content.partition("expression {")[2].partition("}")[0].replace("if (", "choose(")
        columns = X.astype(np.float64)
        return np.asarray(
            _value(ast.parse(" ".join(inner.split()), mode="eval").body, columns, place)
        )
    sums = np.zeros((2, len(X)))
    trees = json.loads(content)["tree_info"]
    for k, tree in enumerate(trees):
        leaves = find_leaf_values(tree["tree_structure"], X, "leaf_value", _split)
        in_fours = k < len(trees) // 4 * 4
        sums[k % 2 if in_fours else 0] += leaves.astype(np.float32).astype(np.float64)
    return np.asarray(sums[0] + sums[1])


def _split(node: Exported, X: NDArray[np.float32], rows: NDArray[np.int64]) -> Halves:
    x = X[rows, node["split_feature"]]
    left = np.where(np.isnan(x), node["default_left"], x < np.float32(node["threshold"]))
    return left, node["left_child"], node["right_child"]


def _value(node: ast.expr, X: Floats, place: dict[str, int]) -> Any:
    """Compute an expression of sums, products, logarithms and choices in double."""
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return X[:, place[node.id]]
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, X, place)
    if isinstance(node, ast.Compare):
        return _value(node.left, X, place) < _value(node.comparators[0], X, place)
    if isinstance(node, ast.BinOp):
        left, right = (_value(side, X, place) for side in (node.left, node.right))
        operators = {
            ast.Add: np.add,
            ast.Sub: np.subtract,
            ast.Mult: np.multiply,
            ast.Div: np.divide,
        }
        return operators[type(node.op)](left, right)
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = [_value(argument, X, place) for argument in node.args]
        return np.where(*values) if node.func.id == "choose" else np.log(values[0])
