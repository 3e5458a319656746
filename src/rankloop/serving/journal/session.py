"""A session with PostgreSQL that never waits for ever."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

import psycopg
from psycopg.rows import TupleRow

if TYPE_CHECKING:
    from collections.abc import Generator

    _T = TypeVar("_T")

ANSWER = 10.0
"""Seconds in which each statement must be answered; maintenance has `LONG`."""

LONG = 3600.0

_CONNECT = 10  # seconds
_IDLE = 30  # seconds; after them, the server ends a transaction whose client is silent


class PatientConnection(psycopg.Connection[TupleRow]):
    """A connection; it is closed if the answer to a statement does not come in time.

    A network that swallows packets, or a database whose disk hangs, breaks no connection: without a
    limit, everybody waits until the operating system gives up, which takes a quarter of an hour.

    Attributes
    ----------
    patience : seconds to wait for the answer to one statement
    """

    patience = ANSWER

    @classmethod
    def open(cls, address: str, name: str) -> Self:
        """Connect to an address; `name` is what the database calls this session."""
        session = cls.connect(
            address, autocommit=True, application_name=name, connect_timeout=_CONNECT
        )
        # If this side vanishes, its transaction must not keep its locks.
        session.execute(f"SET idle_in_transaction_session_timeout = '{_IDLE}s'")
        return session

    def wait(self, gen: Generator[Any, Any, _T], *options: Any, **more: Any) -> _T:
        """Wait for an answer; see psycopg."""
        try:
            return super().wait(_within(gen, self.patience), *options, **more)
        except UnansweredError:
            self.close()  # otherwise, the end of its transaction would wait again
            raise


class UnansweredError(psycopg.OperationalError):
    """The database did not answer in time."""


def _within(gen: Generator[Any, Any, _T], seconds: float) -> Generator[Any, Any, _T]:
    """Pass a generator of psycopg through; raise if it is not done in time.

    Each value that is sent tells whether the socket is ready; zero, ten times a second, that it is
    not.
    """
    end = time.monotonic() + seconds
    try:
        state = next(gen)
        while True:
            ready = yield state
            if not ready and time.monotonic() > end:
                raise UnansweredError(f"the database did not answer within {seconds:g} seconds")
            state = gen.send(ready)
    except StopIteration as done:
        result: _T = done.value
        return result
