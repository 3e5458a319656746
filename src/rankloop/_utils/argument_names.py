"""How messages name an argument: as the caller writes it, in Python or on the command line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

Style = Callable[[str, object], str]


def _as_in_python(name: str, value: object) -> str:
    return f"{name}=" if value is None else f"{name}={value!r}"


_style: ContextVar[Style] = ContextVar("style", default=_as_in_python)


def argument(name: str, value: object = None) -> str:
    """Return an argument as the caller writes it, with a value or without.

    >>> argument("doc_id"), argument("encoding", "latin-1"), argument("skip_bad_rows", True)
    ('doc_id=', "encoding='latin-1'", 'skip_bad_rows=True')
    """
    return _style.get()(name, value)


@contextlib.contextmanager
def named_by(style: Style) -> Iterator[None]:
    """Let messages name arguments in another style, in this block.

    >>> with named_by(lambda name, value: f"--{name}"):
    ...     argument("query")
    '--query'
    """
    token = _style.set(style)
    try:
        yield
    finally:
        _style.reset(token)
