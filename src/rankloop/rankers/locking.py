"""Rankers shared by threads: learning threads wait for each other, ranking threads never wait.

The state is never changed in place. A call that learns works on a copy of the ranker, which shares
the arrays until they are replaced, and at the end the ranker takes over the new state in one step.
So a thread that ranks sees the state before or after an update, never one in between.
"""

from __future__ import annotations

import threading
from typing import Self

_making = threading.Lock()


class Shared:
    """An object that threads may share. Copies, pickles and files do not contain its lock.

    Attributes
    ----------
    version_ : how often the state has changed
    """

    __slots__ = ("_own_lock",)
    _own_lock: threading.RLock
    version_: int

    @property
    def _writing(self) -> threading.RLock:
        """The lock that a thread holds while it learns."""
        try:
            return self._own_lock
        except AttributeError:
            with _making:
                if not hasattr(self, "_own_lock"):
                    self._own_lock = threading.RLock()
            return self._own_lock

    def fork(self) -> Self:
        """Return a copy that shares the learnt arrays; it is made in one step, in a microsecond.

        Both may continue to learn independently, because arrays are replaced and never changed in
        place.
        """
        fork = object.__new__(type(self))
        object.__setattr__(fork, "__dict__", self.__dict__.copy())
        return fork

    def _become(self, fork: Self) -> None:
        """Take over the state of a copy in one step, as a new version."""
        self.__dict__.update(fork.__dict__, version_=self.version_ + 1)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes that copies and pickles contain."""
        return vars(self).copy()
