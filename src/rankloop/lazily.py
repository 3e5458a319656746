"""Packages whose names are imported when they are first used.

A stub beside the package's `__init__.py` lists them, one line for each: `from rankloop.data.dataset
import QueryDataset as QueryDataset`. Type checkers read the stub, and so does :func:`exports`, so a
name is written once.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LINE = re.compile(r"^from ([\w.]+) import (\w+) as \2$", re.MULTILINE)


def exports(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package with a stub."""
    stub = Path(file).with_suffix(".pyi").read_text()
    homes = {name: module for module, name in _LINE.findall(stub)}
    names = sorted(homes)

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{home}.{name}") if home == package else None
        if value is None:
            value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: names, names
