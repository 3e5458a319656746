"""`--import`: modules and files of the user, whose rankers and losses every command then knows."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from rankloop.exceptions import DataError

OPTION = "--import"


def import_first(words: list[str]) -> list[str]:
    """Import what `--import` names, before or after the command; return the other words."""
    left: list[str] = []
    given = iter(words)
    for word in given:
        if word == "--":
            return [*left, word, *given]
        option, equals, name = word.partition("=")
        if option != OPTION:
            left.append(word)
            continue
        name = name if equals else next(given, "")
        if not name:
            raise DataError("--import needs the name of a module or of a .py file")
        _import(name)
    return left


def _import(name: str) -> None:
    if name.endswith(".py") and not Path(name).is_file():
        raise DataError(f"--import: there is no file {name}")
    try:
        if name.endswith(".py"):
            _run_file(Path(name))
        else:
            if str(Path.cwd()) not in sys.path:
                sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
            import_module(name)
    except DataError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise DataError(
            f"--import {name}: {type(error).__name__}: {error} ({place.filename}:{place.lineno})"
        ) from None


def _run_file(path: Path) -> None:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # where classes of the file are looked up
    spec.loader.exec_module(module)
