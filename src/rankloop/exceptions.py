"""The errors that Rankloop raises for input it cannot use.

::

    RankloopError
    ├── DataError             a value, a file or a combination of arguments that cannot be right
    │   ├── ParseError        a text file, with the line where it went wrong
    │   └── MemoryLimitError  an array that would not fit
    ├── MeasureError          a measure or convention that does not exist or does not apply
    ├── ModelError            a model file that is missing, damaged, foreign or too new
    ├── NotFittedError        a model that has learnt nothing was asked to rank
    └── MissingExtraError     an optional package is not installed (also an ImportError)

Every message says what was found, what was expected and what to do about it.
"""

from __future__ import annotations


class RankloopError(Exception):
    """The root of all errors that are about the caller's input rather than a bug."""


class DataError(RankloopError, ValueError):
    """Data that cannot be used as it is."""


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
    """A model was asked for what it has not learnt yet."""


class MissingExtraError(RankloopError, ImportError):
    """An optional package is needed; the message names what to install."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed. "
            f"Install it with: pip install 'rankloop[{extra}]'"
        )


class BadRowsWarning(UserWarning):
    """Rows were left out of a file because the caller asked to skip bad rows."""
