"""`rankloop learners`: what there is to choose from."""

from __future__ import annotations

import inspect
import re

from rankloop.cli import options as o
from rankloop.cli.output import print_json, print_table


def learners(json: o.Json = False) -> None:
    """List the learners: parameters, which of them are searched, cost and reference."""
    from rankloop.learners.registry import NAMES, ONLINE_NAMES, learner_class

    rows = []
    for name in NAMES:
        cls = learner_class(name)
        text = inspect.getdoc(cls) or ""
        rows.append(
            {
                "learner": name,
                "summary": text.splitlines()[0],
                "parameters": {key: repr(value) for key, value in cls.parameters().items()},
                "streams": name in ONLINE_NAMES,
                "searched": {key: search.grid() for key, search in cls.search_space.items()},
                "cost": _section(text, r"Cost[^:]*: (.*?)(?:\n\n|\Z)"),
                "reference": _section(text, r"References\n-+\n(.*?)(?:\n\n|\Z)"),
            }
        )
    if json:
        print_json(rows)
        return
    table = (
        [
            row["learner"],
            row["summary"],
            ", ".join(f"{k}={v}" for k, v in row["parameters"].items()),  # type: ignore[attr-defined]
            "yes" if row["streams"] else "no",
            _searched(row["searched"]),  # type: ignore[arg-type]
            row["cost"],
            row["reference"],
        ]
        for row in rows
    )
    print_table(
        ["learner", "what it is", "parameters", "streams", "searched", "cost", "reference"], table
    )


def _searched(grids: dict[str, list[object]]) -> str:
    shown = (f"{key}: {', '.join(map(_value, values))}" for key, values in grids.items())
    return "; ".join(shown)


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _section(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.DOTALL)
    return " ".join(found[1].split()) if found else ""
