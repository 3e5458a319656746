"""What a ranker has learnt, as plain values: copied without sharing, and checked.

The state of a ranker is never changed in place. A call that learns works on a copy of the ranker,
which shares the arrays until they are replaced, and at the end the ranker takes over the new state
in one step. So a thread that ranks sees the state before or after an update, never one in between.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.estimator import Estimator
from rankloop.exceptions import ModelError
from rankloop.rankers.forms import Names, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.forms import Form

    State = Mapping[str, Any]  # what a ranker learnt, by name

MAX_FEATURES = 2**24

making_lock = threading.Lock()
"""Held while a ranker gets its own lock, so that two threads do not make two."""


def read_width(state: State) -> int:
    """Return the number of features according to a ranker's state."""
    width = state.get("n_features_in_")
    Whole(high=MAX_FEATURES).check("n_features_in_", width)
    return int(width)  # type: ignore[arg-type]


def check_forms(state: State, forms: dict[str, Form], owner: str) -> None:
    """Raise unless a state has these parts, each of its form; names of features may be missing."""
    if "feature_names_in_" in state:
        forms = {**forms, "feature_names_in_": Names(read_width(state))}
    if state.keys() != forms.keys():
        differ = ", ".join(sorted(state.keys() ^ forms.keys()))
        raise ModelError(f"the state of a {owner} has missing or unknown parts: {differ}")
    for name, form in forms.items():
        form.check(name, state[name])


def plain_copy(value: object) -> object:
    """Return a copy of a part of a state that shares no array; rankers in it are copied, too."""
    if isinstance(value, np.ndarray | Estimator):
        return value.copy()  # type: ignore[union-attr]
    if isinstance(value, list):
        return [plain_copy(item) for item in value]
    if isinstance(value, dict):
        return {key: plain_copy(item) for key, item in value.items()}
    return value
