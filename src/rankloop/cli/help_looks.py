"""How the help of commands names the values of options: short, and nothing for a flag."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_WORDS = {"bool": "", "str": "TEXT", "path": "FILE", "file": "FILE", "int": "N", "float": "X"}


def name_values(command: Any) -> Any:
    """Let a command and its subcommands name the values of options in the usual words."""
    for parameter in command.params:
        _name_value(parameter)
        if parameter.name == "data":
            parameter.get_usage_pieces = lambda _: ["DATA..."]  # or --config instead
            parameter.display_type_rich = lambda ctx: "[required]"  # noqa: ARG005
    if not _is_done(command.get_help_option):
        command.get_help_option = functools.partial(_name_help_option, command.get_help_option)
    for inner in getattr(command, "commands", {}).values():
        name_values(inner)
    return command


def _name_help_option(make: Callable[[Any], Any], ctx: Any) -> Any:
    return _name_value(make(ctx))


def _is_done(function: object) -> bool:
    """Whether a function is ours already; the group of all commands is shown more than once."""
    return isinstance(function, functools.partial)


def _name_value(parameter: Any) -> Any:
    shown = getattr(parameter, "display_type_rich", None)
    if shown is not None and not _is_done(shown):
        parameter.display_type_rich = functools.partial(_shorten, shown)
    return parameter


def _shorten(shown: Callable[[Any], str | None], ctx: Any) -> str | None:
    """Return `N` for Typer's `<int range>`, nothing for `<bool>`, and others as they are."""
    text = shown(ctx) or ""
    word = re.fullmatch(r"<(?:list\[)?(\w+)(?: range)?\]?>", text)
    return (_WORDS.get(word[1].lower(), text) if word else text) or None
