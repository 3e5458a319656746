"""One learner shared by threads: one learns, or many read, never both."""

from __future__ import annotations

import copy
import threading
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    S = TypeVar("S", bound="Shared")
    P = ParamSpec("P")
    T = TypeVar("T")

_making = threading.Lock()


class Lock:
    """Lets one thread write, or any number of them read.

    A thread inside may enter again; one that reads must not begin to write. Who wants to write
    comes before new readers, so that a busy service still learns.

    Notes
    -----
    Cost: some tenths of a microsecond.
    """

    def __init__(self) -> None:
        self._entry = threading.RLock()  # held by who writes, and to begin reading
        self._readers: set[int] = set()  # threads
        self._wanted = False  # to write, once the readers have gone
        self._one_left = threading.Event()

    def read(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function while nobody else writes."""
        me = threading.get_ident()
        if me in self._readers:
            return function(*args, **kwargs)
        try:
            with self._entry:
                self._readers.add(me)
            return function(*args, **kwargs)
        finally:
            self._readers.discard(me)
            if self._wanted:
                self._one_left.set()

    def write(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function while nobody else reads or writes."""
        with self._entry:
            if self._readers:
                self._wait_for_readers(threading.get_ident())
            return function(*args, **kwargs)

    def _wait_for_readers(self, me: int) -> None:
        self._wanted = True
        try:
            self._one_left.clear()
            while self._readers - {me}:
                self._one_left.wait()
                self._one_left.clear()
        finally:
            self._wanted = False


class Shared:
    """What threads can share: it has a lock, made when it is first needed; copies have their own.

    :func:`learns` and :func:`reads` mark the methods that take it.
    """

    __slots__ = ("_own_lock",)  # not among the attributes, which are copied, saved and compared
    _own_lock: Lock

    @property
    def _lock(self) -> Lock:
        try:
            return self._own_lock
        except AttributeError:
            with _making:
                if not hasattr(self, "_own_lock"):
                    self._own_lock = Lock()
            return self._own_lock

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = self.__new__(type(self))
        memo[id(self)] = copied
        vars(copied).update(self._lock.read(copy.deepcopy, vars(self), memo))
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle takes over: one state of everything but the lock."""
        return self._lock.read(copy.deepcopy, vars(self))


def learns(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Let a method change what it belongs to: other threads wait until it is done."""

    @wraps(method)
    def alone(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._lock.write(method, self, *args, **kwargs)

    return alone


def reads(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Let a method see one state of what it belongs to: who would change it waits."""

    @wraps(method)
    def unchanged(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._lock.read(method, self, *args, **kwargs)

    return unchanged
