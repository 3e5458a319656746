"""The command line: one module per command, without logic of its own."""

from __future__ import annotations

import codecs
import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_PLAIN = {"±": "+/-", "─": "-", "│": "|", "…": "...", "→": "->", "≤": "<=", "≥": ">="}


def main() -> None:
    """Run the command line.

    Exit codes: 0 for success, 1 for data or a model that cannot be used, 2 for a wrong command, 130
    if interrupted.
    """
    warnings.showwarning = _show_warning
    codecs.register_error("rankloop", _in_plain_letters)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="rankloop")
    catch_errors(_run)()


def _run() -> None:
    from rankloop.cli.app import app

    words = sys.argv[1:]
    if any(word.startswith("--import") for word in words):
        from rankloop.cli.imports import import_first

        words = import_first(words)
    app(words, prog_name="rankloop")


def catch_errors(command: Callable[P, R]) -> Callable[P, R]:
    """End a command cleanly after an error: with one line on standard error, and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> R:
        from rankloop._utils.argument_names import named_by
        from rankloop.exceptions import RankloopError

        try:
            with named_by(_name_option):
                result = command(*args, **options)
            sys.stdout.flush()
        except RankloopError as error:
            _fail(str(error), 1)
        except BrokenPipeError:  # the reader of our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except KeyboardInterrupt:
            _fail("interrupted", 130)
        except MemoryError:
            _fail("there is not enough memory; use less data, or a machine with more memory", 1)
        except OSError as error:  # of a file that nothing above has named better
            name = error.filename
            what = error.strerror or str(error)
            _fail(what if name is None else f"{os.fsdecode(name)}: {what}", 1)
        else:
            return result

    return run


def _name_option(name: str, value: object) -> str:
    from rankloop.cli.options import name_option

    return name_option(name, value)


def _fail(message: str, code: int) -> NoReturn:
    line = " ".join(message.split("\n"))
    print(line if code == 130 else f"error: {line}", file=sys.stderr)
    sys.exit(code)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"warning: {message}", file=sys.stderr)


def _in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the encoding of the locale lacks by others."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in part), error.end
