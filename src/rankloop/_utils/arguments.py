"""Checks of what callers pass: an error says what was found and what was expected."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from math import inf
from typing import Any

import numpy as np

from rankloop.exceptions import DataError, DataTypeError


def check_type(name: str, value: object, kinds: type | tuple[type, ...], wanted: str) -> None:
    """Raise unless a value is of one of these kinds; `wanted` says which, in words."""
    if not isinstance(value, kinds):
        raise wrong_type(name, value, wanted)


def wrong_type(name: str, value: object, wanted: str) -> DataTypeError:
    """Return the error for a value of a wrong type."""
    shown = repr(value).replace("\n", " ")
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return DataTypeError(f"{name} must be {wanted}; found {shown} ({type(value).__name__})")


def path_text(path: object, name: str = "path") -> str:
    """Return a path as text; raise unless it is text or a `pathlib.Path`."""
    text = path if isinstance(path, str) else getattr(path, "__fspath__", lambda: None)()
    if isinstance(path, type) or not isinstance(text, str):
        raise wrong_type(name, path, "a path: text or a pathlib.Path")
    return text


def check_number(name: str, value: Any, least: float = -inf, whole: bool = True) -> None:
    """Raise unless a value is a number of at least this; a whole one unless told otherwise."""
    wanted = f"a {'whole ' if whole else ''}number"
    wanted += f" of at least {least:g}" if least > -inf else ""
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    check_type(name, value, kinds, wanted)
    if not value >= least:
        raise DataError(f"{name} must be {wanted}; found {value}")


def as_list(name: str, values: object, wanted: str) -> list[Any]:
    """Return the values of something iterable; raise unless it is one, and no text."""
    is_frame = hasattr(values, "columns")  # which would give the names of its columns
    if not isinstance(values, Iterable) or isinstance(values, str | bytes) or is_frame:
        raise wrong_type(name, values, wanted)
    return list(values)


def check_callback(function: object) -> None:
    """Raise unless this can be called after each round, or is None."""
    if function is None:
        return
    try:
        takes_one = callable(function) and inspect.signature(function).bind(None)
    except TypeError:
        takes_one = False
    except ValueError:  # of a built-in function without a signature
        return
    if not takes_one:
        raise wrong_type("on_round", function, "a function that takes a Round")
