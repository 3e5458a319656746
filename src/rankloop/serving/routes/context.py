"""Features that all candidates of a question share, such as the time of day."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from rankloop.serving.problems import Problem
from rankloop.serving.routes.candidates import Candidates, check_finite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.serving.config import LoopSettings


class Shared(NamedTuple):
    """What a context gives, and what it leaves to the items.

    columns, values : of the features that it names
    others : columns of those that items give
    rest : settings that know the others alone, to check items against
    """

    names: tuple[str, ...]
    columns: list[int]
    values: list[float]
    others: list[int]
    rest: LoopSettings

    def added_to(self, candidates: Candidates) -> Candidates:
        """Return candidates with all of the loop's features."""
        X = np.empty((len(candidates.ids), len(self.names)), np.float32)
        X[:, self.others] = candidates.X
        with np.errstate(over="ignore"):
            X[:, self.columns] = np.array(self.values, np.float32)
        return Candidates(candidates.ids, check_finite(X, candidates.ids, self.names))


def shared_features(context: Mapping[str, float], settings: LoopSettings) -> Shared:
    """Check a context against the loop's features."""
    names = settings.names
    unknown = context.keys() - set(names)
    if unknown:
        raise Problem(
            422, f"context has a feature {min(unknown)!r:.80}, which the loop does not know"
        )
    others = [column for column, name in enumerate(names) if name not in context]
    columns = [column for column, name in enumerate(names) if name in context]
    rest = msgspec.structs.replace(
        settings,
        features=tuple(names[column] for column in others),
        defaults={k: v for k, v in settings.defaults.items() if k not in context},
    )
    values = [context[names[column]] for column in columns]
    return Shared(names, columns, values, others, rest)
