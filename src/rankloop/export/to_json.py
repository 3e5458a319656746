"""JSON: the scoring program itself, with weights by feature name; it can be read back."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import ModelError
from rankloop.export import program as nodes
from rankloop.export.program import Column, InputColumn, Inputs, LinearMap, Node, Program
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
        nodes.LinearMap,
        nodes.Trees,
        nodes.KernelMatrix,
    )
}
_STRANGE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


def render(program: Program) -> str:
    """Return a program as JSON: its nodes in order, each with the numbers of those before it.

    `columns` says what each feature is: the nodes see a category as its place in `categories`, a
    date as days since 1970 in UTC, and a boolean as 0 or 1, all as float32. Numbers keep every bit.
    A missing value is null, and an infinite divisor the text "inf".
    """
    order = program.nodes()
    place = {id(node): k for k, node in enumerate(order)}
    text = {
        "format": FORMAT,
        "ranker": program.ranker,
        "features": list(program.features),
        "columns": [_plain(column) for column in program.columns],
        "single": program.single,
        "nodes": [_node(node, place, program.features) for node in order],
    }
    return json.dumps(text, indent=2, allow_nan=False) + "\n"


def parse(text: str) -> Program:
    """Return the program that :func:`render` wrote."""
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise ModelError(f"expected the format {FORMAT!r}; found {document['format']!r}")
        known: list[Node] = []
        for node in document["nodes"]:
            known.append(_read(dict(node), known, document["features"]))
        return Program(
            tuple(document["features"]),
            tuple(
                InputColumn(record["kind"], tuple(record["categories"]), record["buckets"])
                for record in document["columns"]
            ),
            known[-1],
            bool(document["single"]),
            document["ranker"],
        )
    except _STRANGE as error:
        raise ModelError(f"this is not a scoring program: {error!r}") from None


def _node(node: Node, place: dict[int, int], names: tuple[str, ...]) -> dict[str, object]:
    record: dict[str, Any] = {"node": type(node).__name__}
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            record[field.name] = place[id(value)]
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            record[field.name] = [place[id(part)] for part in value]
        else:
            record[field.name] = _plain(value)
    if isinstance(node, LinearMap) and isinstance(node.x, Inputs):
        rows = record["weights"]
        record["weights"] = [dict(zip(names, row, strict=True)) for row in rows]
    return record


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


def _read(record: dict[str, Any], known: list[Node], names: list[str]) -> Node:
    kind = _KINDS[record.pop("node")]
    if kind is not Inputs and "x" in record:
        record["x"] = known[record["x"]]
    if kind is nodes.Join:
        record["parts"] = tuple(known[k] for k in record["parts"])
    if kind is LinearMap and isinstance(record["x"], Inputs):
        record["weights"] = [[row[name] for name in names] for row in record["weights"]]
    if kind is nodes.Encode:
        record["columns"] = tuple(_column(entry) for entry in record["columns"])
    if kind is nodes.Trees:
        record["trees"] = tuple(_tree(entry) for entry in record["trees"])
    for name in ("weights", "bias", "shift", "divisor", "rows"):
        if name in record:
            record[name] = np.array(record[name], np.float64)
    for name in ("left", "right"):
        if name in record:
            record[name] = np.array(record[name], np.int64)
    return kind(**record)


def _column(record: dict[str, Any]) -> Column:
    missing = record["missing"]
    absent = float("nan") if missing is None else missing
    return Column(**{**record, "missing": absent})


def _tree(record: dict[str, Any]) -> Tree:
    kinds = {"feature": np.int64, "left": np.int64, "right": np.int64, "nan_left": np.bool_}
    arrays: dict[str, NDArray[Any]] = {
        name: np.array(record[name], kinds.get(name, np.float64))
        for name in (*kinds, "threshold", "value")
    }
    members = {int(split): tuple(categories) for split, categories in record["members"].items()}
    return Tree(**arrays, members=members)
