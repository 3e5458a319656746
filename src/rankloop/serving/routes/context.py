"""Features that all candidates of a request share, such as the time of day."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec
import numpy as np

from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.candidates import Candidates, check_finite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.serving.settings.loop import LoopSettings

ContextValue = float | bool | str | list[str] | None


class ContextFeatures(NamedTuple):
    """The features in a context, and those that items must have.

    columns, values : of the features in the context
    others : columns of the features of items
    rest : settings with only the other features, to check items
    """

    names: tuple[str, ...]
    columns: list[int]
    values: list[float]
    others: list[int]
    rest: LoopSettings

    def add_to(self, candidates: Candidates) -> Candidates:
        """Return candidates with all of the loop's features."""
        X = np.empty((len(candidates.ids), len(self.names)), np.float32)
        X[:, self.others] = candidates.X
        with np.errstate(over="ignore"):
            X[:, self.columns] = np.array(self.values, np.float32)
        return Candidates(candidates.ids, check_finite(X, candidates.ids, self.names))


def read_context(context: Mapping[str, ContextValue], settings: LoopSettings) -> ContextFeatures:
    """Check a context against the loop's features."""
    names = settings.names
    unknown = context.keys() - set(names)
    if unknown:
        raise HTTPProblem(422, f"context has an unknown feature {min(unknown)!r:.80}; leave it out")
    for name, value in context.items():
        if isinstance(value, bool) or not isinstance(value, float):
            shown = msgspec.json.encode(value).decode()
            fault = f"context: feature {name!r:.80} is {shown:.80}, expected a number"
            raise HTTPProblem(422, fault)
    others = [column for column, name in enumerate(names) if name not in context]
    columns = [column for column, name in enumerate(names) if name in context]
    rest = msgspec.structs.replace(
        settings,
        features=tuple(names[column] for column in others),
        defaults={k: v for k, v in settings.defaults.items() if k not in context},
    )
    values = [cast("float", context[names[column]]) for column in columns]
    return ContextFeatures(names, columns, values, others, rest)
