"""`rankloop rankers`: list the rankers."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.option_groups import takes_groups
from rankloop.cli.options import did_you_mean
from rankloop.cli.tables import Printer

if TYPE_CHECKING:
    from rankloop.experiments.peers import Peer
    from rankloop.rankers.base import Ranker


@takes_groups
def rankers(
    printer: Printer,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show one ranker with its parameters.")
    ] = None,
) -> None:
    """List the rankers, the usual choices first, or show one with its parameters and reference."""
    from rankloop.experiments.peers import PEERS
    from rankloop.rankers.registry import ranker_groups

    groups = {**ranker_groups(), "Other libraries, in compare": list(PEERS)}
    known = [name for names in groups.values() for name in names]
    if name is not None and name not in known:
        raise typer.BadParameter(
            f"unknown ranker {name!r}{did_you_mean(name, known)}; see `rankloop rankers`"
        )
    if printer.json:
        printer.records([_describe(ranker) for ranker in ([name] if name else known)])
    elif name is None:
        for group, names in groups.items():
            rows = (
                [ranker["ranker"], _short(ranker), ranker["summary"]]
                for ranker in map(_describe, names)
            )
            printer.table(["ranker", "learns", "what it is"], rows, group)
        printer.note("`rankloop rankers NAME` shows parameters, cost and reference.")
    else:
        _show(_describe(name), printer)


def _describe(name: str) -> dict[str, Any]:
    from rankloop.experiments.peers import PEERS
    from rankloop.rankers.registry import online_names, ranker_class

    cls: type[Peer] | type[Ranker] = PEERS[name] if name in PEERS else ranker_class(name)
    text = inspect.getdoc(cls) or ""
    return {
        "ranker": name,
        "summary": text.splitlines()[0],
        "parameters": {key: repr(value) for key, value in cls._parameters().items()},
        "streams": name in online_names(),
        "peer": name in PEERS,
        "searched": {key: search.grid() for key, search in cls.search_space.items()},
        "cost": _section(text, r"Cost[^:]*: (.*?)(?:\n\n|\Z)"),
        "reference": _section(text, r"References\n-+\n(.*?)(?:\n\n|\Z)"),
        "about": text,
    }


def _short(ranker: dict[str, object]) -> str:
    if ranker["peer"]:
        return "in compare"
    return "online" if ranker["streams"] else "in batch"


def _show(ranker: dict[str, Any], printer: Printer) -> None:
    rows = [
        [key, value, ", ".join(map(_value, ranker["searched"].get(key, [])))]
        for key, value in ranker["parameters"].items()
    ]
    printer.note(f"{ranker['about']}\n")
    printer.table(["parameter", "default", "searched"], rows, ranker["ranker"])


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _section(text: str, pattern: str) -> str:
    match = re.search(pattern, text, re.DOTALL)
    return " ".join(match[1].split()) if match else ""
