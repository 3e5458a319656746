"""The targets by name: how each renders a program, and how the result is run to verify it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rankloop.export.originals import Originals
    from rankloop.export.program import Program

    Floats = NDArray[np.float64]
    Content = str | bytes


@dataclass(frozen=True)
class Target:
    """One kind of engine.

    render : returns the content of the file
    run : returns the scores of rows as the user's table has them, by the engine itself or by our
        copy of its arithmetic
    is_real : whether `run` is the engine itself
    """

    name: str
    render: Callable[..., Content]
    run: Callable[..., Floats]
    is_real: bool


def _json() -> Target:
    from rankloop.export import evaluate, to_json

    def run(program: Program, rows: Originals) -> Floats:
        again = to_json.parse(to_json.render(program))
        return evaluate.evaluate(again, rows.codes, rows.offsets)

    return Target("json", to_json.render, run, True)


def _c() -> Target:
    from rankloop.export import running, to_c

    def run(program: Program, rows: Originals) -> Floats:
        return running.run_c(to_c.render(program), program.columns, rows)

    return Target("c", to_c.render, run, True)


def _onnx() -> Target:
    from rankloop.export import running, to_onnx

    def run(program: Program, rows: Originals) -> Floats:
        return running.run_onnx(to_onnx.render(program), program.columns, rows)

    return Target("onnx", to_onnx.render, run, True)


def _sql() -> Target:
    from rankloop.export import running, to_sql

    def render(
        program: Program,
        dialect: str = "postgresql",
        table: str = "documents",
        query: str = "qid",
        document: str = "doc",
        database: str | None = None,  # noqa: ARG001 - of the run
    ) -> str:
        return to_sql.render(program, dialect, to_sql.SqlNames(table, query, document))

    def run(
        program: Program,
        rows: Originals,
        dialect: str = "postgresql",
        database: str | None = None,
        **names: str,  # noqa: ARG001 - the run has a table of its own
    ) -> Floats:
        text = to_sql.render(program, dialect, to_sql.SqlNames(running.TABLE))
        return running.run_sql(text, dialect, program, rows, database)

    return Target("sql", render, run, True)


def _engine(name: str, module: str) -> Target:
    """Return a search engine, which the twin of its arithmetic stands for."""
    engine = import_module(f"rankloop.export.{module}")

    def run(program: Program, rows: Originals, **options: str) -> Floats:
        content = engine.render(program, **options)
        scores: Floats = engine.twin(content, program.features, rows.codes)
        return scores.astype(np.float64)

    return Target(name, engine.render, run, False)


_MAKERS: Mapping[str, Callable[[], Target]] = {
    "json": _json,
    "c": _c,
    "sql": _sql,
    "onnx": _onnx,
    "elasticsearch": lambda: _engine("elasticsearch", "to_elasticsearch"),
    "opensearch": lambda: _engine("opensearch", "to_elasticsearch"),
    "elasticsearch-native": lambda: _engine("elasticsearch-native", "to_elasticsearch_native"),
    "solr": lambda: _engine("solr", "to_solr"),
    "vespa": lambda: _engine("vespa", "to_vespa"),
}
TARGETS: tuple[str, ...] = tuple(_MAKERS)
"""The names of all targets."""


def target(name: str) -> Target:
    """Return a target by its name.

    >>> target("c").is_real
    True
    """
    if name not in _MAKERS:
        raise DataError(f"there is no target {name!r}; choose from {', '.join(TARGETS)}")
    return _MAKERS[name]()
