"""What features see of a request: its items, and the state before it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.features.fields import Value
    from rankloop.features.options import Ref
    from rankloop.features.request import Request
    from rankloop.features.state import FeatureState

    Floats = NDArray[np.float64]
    Column = NDArray[np.float32]


class StateView:
    """A :class:`~rankloop.features.kinds.base.View` of a state, and the matrix that it fills.

    It is used at once: it does not see what changes the state later.
    """

    def __init__(
        self,
        state: FeatureState,
        items: Sequence[str],
        request: Request,
        at: int,
        given: NDArray[np.float32] | None,
    ) -> None:
        definitions = state.definitions
        self.n, self.at = len(items), at
        self._state, self._request, self._given = state, request, given
        if given is not None and given.shape != (self.n, len(definitions.given)):
            raise DataError(
                f"found given values of the shape {given.shape}; expected one row for each of the "
                f"{self.n} items and a column for each of {', '.join(definitions.given)}"
            )
        self._core = state.fold.view(list(items), state.context(request))
        self.out = np.empty((self.n, len(definitions.names)), np.float32)

    def fill(self) -> None:
        """Compute all columns."""
        self._core.fill(self._state.steps, self.at, self.out)
        for kind, first, last in self._state.python_kinds:
            kind.fill(self, self.out[:, first:last])

    def count_unknown(self) -> int:
        """Return how many of the items have no fields."""
        return self._core.count_unknown()

    def codes(self, ref: Ref) -> Column:
        """Return a number for the category of each item; NaN is missing."""
        return self._core.codes(self._number(ref))

    def vectors(self, ref: Ref) -> Column:
        """Return a vector for each item, or one for all of them."""
        if ref.side != "request":
            return self._core.vectors(ref.side, self._number(ref))
        value = self._fields.get(ref.field.name)
        if isinstance(value, bytes):
            return np.frombuffer(value, "<f4").astype(np.float32).reshape(1, -1)
        return np.full((1, ref.field.size), np.nan, np.float32)

    def match(self, query: Ref, text: Ref, how: str) -> Floats:
        """Return how well the text of each item fits a text of the request."""
        asked = self._request.text.get(query.field.name)
        if asked is None:
            return np.full(self.n, np.nan)
        return self._core.match(self._number(text), asked, how)

    def cross(self, parts: Sequence[str], buckets: int) -> Column:
        """Return a hash of several categories for each item: 0 to buckets - 1."""
        return self._core.cross([self._state.slots[part] for part in parts], buckets)

    def given(self, name: str) -> Column:
        """Return the values that the caller sent."""
        if self._given is None:
            return np.full(self.n, np.nan, np.float32)
        return self._given[:, self._state.definitions.given.index(name)]

    def above(self, name: str) -> Column:
        """Return the values of a feature that is defined above this one."""
        return self.out[:, self._state.definitions.names.index(name)]

    @cached_property
    def _fields(self) -> dict[str, Value]:
        return self._state.check_request(self._request)

    def _number(self, ref: Ref) -> int:
        return self._state.field(ref)
