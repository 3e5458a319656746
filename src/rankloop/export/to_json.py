"""JSON: the scoring program itself, with weights by feature name; it can be read back."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import ModelError
from rankloop.export import program as nodes
from rankloop.export.program import Column, Inputs, Linear, Node, Program
from rankloop.rankers.boosting.trees import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = "rankloop scoring program"
_KINDS: dict[str, type[Node]] = {
    kind.__name__: kind
    for kind in (
        nodes.Inputs,
        nodes.Apply,
        nodes.Affine,
        nodes.WithinQuery,
        nodes.Products,
        nodes.Encode,
        nodes.Join,
        nodes.Linear,
        nodes.Trees,
        nodes.Kernel,
    )
}
_STRANGE = (AttributeError, LookupError, TypeError, ValueError)


def render(program: Program) -> str:
    """Return a program as JSON: its nodes in order, each with the numbers of those before it.

    Numbers keep every bit. A missing value is null, and an infinite divisor the text "inf".
    """
    order = program.nodes()
    place = {id(node): k for k, node in enumerate(order)}
    text = {
        "format": FORMAT,
        "ranker": program.ranker,
        "features": list(program.features),
        "single": program.single,
        "nodes": [_node(node, place, program.features) for node in order],
    }
    return json.dumps(text, indent=2, allow_nan=False) + "\n"


def parse(text: str) -> Program:
    """Return the program that :func:`render` wrote."""
    try:
        told = json.loads(text)
        if told["format"] != FORMAT:
            raise ModelError(f"expected the format {FORMAT!r}; found {told['format']!r}")
        known: list[Node] = []
        for one in told["nodes"]:
            known.append(_read(dict(one), known, told["features"]))
        return Program(tuple(told["features"]), known[-1], bool(told["single"]), told["ranker"])
    except _STRANGE as error:
        raise ModelError(f"this is not a scoring program: {error!r}") from None


def _node(node: Node, place: dict[int, int], names: tuple[str, ...]) -> dict[str, object]:
    told: dict[str, Any] = {"node": type(node).__name__}
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            told[field.name] = place[id(value)]
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            told[field.name] = [place[id(part)] for part in value]
        else:
            told[field.name] = _plain(value)
    if isinstance(node, Linear) and isinstance(node.x, Inputs):
        rows = told["weights"]
        told["weights"] = [dict(zip(names, row, strict=True)) for row in rows]
    return told


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else repr(value)
    return value


def _read(told: dict[str, Any], known: list[Node], names: list[str]) -> Node:
    kind = _KINDS[told.pop("node")]
    if kind is not Inputs and "x" in told:
        told["x"] = known[told["x"]]
    if kind is nodes.Join:
        told["parts"] = tuple(known[k] for k in told["parts"])
    if kind is Linear and isinstance(told["x"], Inputs):
        told["weights"] = [[row[name] for name in names] for row in told["weights"]]
    if kind is nodes.Encode:
        told["columns"] = tuple(_column(one) for one in told["columns"])
    if kind is nodes.Trees:
        told["trees"] = tuple(_tree(one) for one in told["trees"])
    for name in ("weights", "bias", "shift", "divisor", "rows"):
        if name in told:
            told[name] = np.array(told[name], np.float64)
    for name in ("left", "right"):
        if name in told:
            told[name] = np.array(told[name], np.int64)
    return kind(**told)


def _column(told: dict[str, Any]) -> Column:
    missing = told["missing"]
    absent = float("nan") if missing is None else missing
    return Column(**{**told, "missing": absent, "table": tuple(told["table"])})


def _tree(told: dict[str, Any]) -> Tree:
    kinds = {"feature": np.int64, "left": np.int64, "right": np.int64, "nan_left": np.bool_}
    arrays: dict[str, NDArray[Any]] = {
        name: np.array(told[name], kinds.get(name, np.float64))
        for name in (*kinds, "threshold", "value")
    }
    members = {int(split): tuple(found) for split, found in told["members"].items()}
    return Tree(**arrays, members=members)
