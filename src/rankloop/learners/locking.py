"""One learner shared by threads: those that learn wait for each other, those that rank never wait.

What was learnt is never changed in place. A call that learns works on a copy of the learner, whose
arrays are shared until they are replaced, and the learner takes over all of it in one step at the
end. So a thread that ranks sees the state before or after, never one in between.
"""

from __future__ import annotations

import threading
from typing import Any, Self

_making = threading.Lock()


class Shared:
    """What threads may share. Copies, pickles and files do not take the lock along."""

    __slots__ = ("_own_lock",)
    _own_lock: Any

    @property
    def _writing(self) -> Any:
        """The lock that a thread holds while it learns."""
        try:
            return self._own_lock
        except AttributeError:
            with _making:
                if not hasattr(self, "_own_lock"):
                    self._own_lock = threading.RLock()
            return self._own_lock

    def _twin(self) -> Self:
        """Return a copy that shares what was learnt, taken in one step."""
        twin = self.__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def _become(self, twin: Self) -> None:
        """Take over all that a copy has learnt, in one step."""
        vars(self).update(vars(twin))

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles take along."""
        return vars(self).copy()
