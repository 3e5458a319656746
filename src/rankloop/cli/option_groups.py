"""Groups of options: a command takes a dataclass, and the command line shows its fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import TypeVar, get_type_hints

T = TypeVar("T")


def takes_groups(command: Callable[..., T]) -> Callable[..., T]:
    """Let a command take groups of options, each as one value.

    Typer reads the signature of a command. Here, each parameter that is annotated with a dataclass
    is replaced in the signature by the fields of that class; when the command runs, their values
    are put together again. A class checks its values in `__post_init__`.
    """
    signature = inspect.signature(command, eval_str=True)
    groups = {p.name: _options(p.annotation) for p in signature.parameters.values() if _is_group(p)}

    @functools.wraps(command)
    def run(**values: object) -> T:
        for name, options in groups.items():
            group = signature.parameters[name].annotation
            values[name] = group(**{option.name: values.pop(option.name) for option in options})
        return command(**values)

    # The help lists the options of the command itself before those of its groups. All are
    # keywords, because an option without a default may follow one with a default.
    single = [p for p in signature.parameters.values() if p.name not in groups]
    parameters = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for options in (single, *groups.values())
        for option in options
    ]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _is_group(parameter: inspect.Parameter) -> bool:
    return is_dataclass(parameter.annotation)


def _options(group: type) -> list[inspect.Parameter]:
    """Return the fields of a group as parameters of a command."""
    types = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=[] if option.default is MISSING else option.default,
            annotation=types[option.name],
        )
        for option in fields(group)
    ]
