"""The errors that Rankloop raises for input it cannot use.

::

    RankloopError
    ├── DataError             a value, a file or a combination of arguments that cannot be right
    │   ├── DataTypeError     a value of a type that is no number (also a TypeError)
    │   ├── ParseError        a text file, with the line where it went wrong
    │   └── MemoryLimitError  an array that would not fit
    ├── MeasureError          a measure or convention that does not exist or does not apply
    ├── ModelError            a model file that is missing, damaged, foreign or too new
    ├── NotFittedError        a model that has learnt nothing was asked to rank (also
    │                         scikit-learn's error of this name, where that is imported)
    └── MissingExtraError     an optional package is not installed (also an ImportError)

Every message says what was found, what was expected and what to do about it.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Self


class RankloopError(Exception):
    """The root of all errors that are about the caller's input rather than a bug."""


class DataError(RankloopError, ValueError):
    """Data that cannot be used as it is."""


class DataTypeError(DataError, TypeError):
    """A value whose type cannot be used, such as a dictionary among the features."""


class ParseError(DataError):
    """A file that does not follow its format.

    Attributes
    ----------
    path : the file, as the caller named it
    line : its line, counted from 1 (None where lines have no meaning)
    """

    def __init__(self, path: str, line: int | None, message: str) -> None:
        self.path, self.line = path, line
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {message}")


class MemoryLimitError(DataError, MemoryError):
    """An array that would exceed the memory at hand; raised before it is allocated."""


class MeasureError(RankloopError, ValueError):
    """A measure or convention that is unknown, malformed or not defined for the data."""


class ModelError(RankloopError, ValueError):
    """A model file that cannot be used."""


class NotFittedError(RankloopError, ValueError, AttributeError):
    """A model was asked for what it has not learnt yet.

    Where scikit-learn has been imported, what is raised is its `NotFittedError` too, so code that
    catches either one works; scikit-learn is never imported for this.
    """

    def __new__(cls, *args: Any) -> Self:
        """Make an error of the class that everyone involved can catch."""
        known = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
        made: Any = cls  # to the type checker this is Self, whichever class it is
        error: Self = super().__new__(made if known is None else _also(made, known), *args)
        return error


@functools.cache
def _also(ours: Any, theirs: Any) -> Any:
    """Return a class that is caught by both names; it is shown, and pickled, as ours."""
    if issubclass(ours, theirs):
        return ours

    def reduce(error: Any) -> tuple[Any, ...]:
        return ours, *ours.__reduce__(error)[1:]

    members = {"__module__": ours.__module__, "__reduce__": reduce}
    return type(ours.__name__, (ours, theirs), members)


class MissingExtraError(RankloopError, ImportError):
    """An optional package is needed; the message names what to install."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed. "
            f"Install it with: pip install 'rankloop[{extra}]'"
        )


class BadRowsWarning(UserWarning):
    """Rows were left out of a file because the caller asked to skip bad rows."""
