"""The errors that Rankloop raises for input it cannot use.

::

    RankloopError
    ├── DataError             a value, file or combination of arguments is wrong
    │   ├── DataTypeError     a value has the wrong type (also a TypeError)
    │   ├── ParseError        a file does not follow its format; it names the line
    │   └── MemoryLimitError  an array would not fit into memory
    ├── MeasureError          a measure or convention does not exist or does not apply
    ├── ModelError            a model file is missing, damaged, of another program or too new
    ├── NotFittedError        a model that has learnt nothing yet was used (also scikit-learn's
    │                         error of this name, if scikit-learn is imported)
    └── MissingExtraError     an optional package is not installed (also an ImportError)

Every message says what was found, what was expected and what to do.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Self


class RankloopError(Exception):
    """The base class of all errors that the caller's input causes."""


class DataError(RankloopError, ValueError):
    """Data that cannot be used.

    Attributes
    ----------
    row : the row of a table, counted from 0, that cannot be used; None if it is not known
    """

    row: int | None = None

    def at_row(self, row: int) -> Self:
        """Return this error, for a row of a table."""
        self.row = int(row)
        return self


class DataTypeError(DataError, TypeError):
    """A value of the wrong type, such as a dictionary among the features."""


class ParseError(DataError):
    """A file that does not follow its format.

    Attributes
    ----------
    path : the file, as the caller named it
    line : the line, counted from 1; None if the format has no lines
    """

    def __init__(self, path: str, line: int | None, message: str) -> None:
        self.path, self.line, self._message = path, line, message
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {message}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.path, self.line, self._message)


class MemoryLimitError(DataError, MemoryError):
    """An array that would exceed the memory limit; raised before it is allocated."""


class MeasureError(RankloopError, ValueError):
    """A measure or convention that is unknown, malformed or undefined for the data."""


class ModelError(RankloopError, ValueError):
    """A model file that cannot be used."""


class NotFittedError(RankloopError, ValueError, AttributeError):
    """A model was used before it has learnt anything.

    If scikit-learn has been imported, the error is also its `NotFittedError`, so code can catch
    either of them. This never imports scikit-learn.
    """

    def __new__(cls, *args: object) -> Self:
        """Make an error that can also be caught as scikit-learn's, if that is imported."""
        known = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
        made: Any = cls  # for the type checker, both classes are Self
        error: Self = super().__new__(made if known is None else _also(made, known), *args)
        return error


@functools.cache
def _also(ours: type[Exception], theirs: type[Exception]) -> type:
    """Return a class that both names catch; it is printed and pickled as ours."""
    if issubclass(ours, theirs):
        return ours

    def reduce(error: Exception) -> tuple[object, ...]:
        return ours, *ours.__reduce__(error)[1:]

    members = {"__module__": ours.__module__, "__reduce__": reduce}
    return type(ours.__name__, (ours, theirs), members)


class MissingExtraError(RankloopError, ImportError):
    """An optional package is not installed; the message says how to install it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self._given = package, extra, purpose
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed. "
            f"Install it with: pip install 'rankloop[{extra}]'"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self._given


class LeakWarning(UserWarning):
    """A ranker is measured on queries that it was trained on, so the result is too good."""


class BadRowsWarning(UserWarning):
    """Bad rows of a file were skipped, as the caller requested."""


class MissingValuesWarning(UserWarning):
    """A column of numbers has texts, such as ?, which were read as missing values."""
