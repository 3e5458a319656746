"""Changes of people or items that a model noticed, with the entries of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.rankers.ensembles.adaptive import Adaptive
from rankloop.rankers.explaining import with_feature_names
from rankloop.rankers.wrappers.described import Described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.rankers.base import Ranker
    from rankloop.serving.learning.examples import Example

_LATEST = 16


class Changes(msgspec.Struct):
    """The changes that a model noticed.

    count : how many so far
    positions : the entry after which each was noticed; the latest 16
    """

    count: int = 0
    positions: list[int] = []

    def follow(self, ranker: Ranker, before: int, examples: Sequence[Example]) -> None:
        """Add what a ranker noticed while it learnt from examples.

        before : the number of queries that it had seen
        """
        adaptive = adaptive_part(ranker)
        if adaptive is None:
            return
        for query in adaptive.changes_:
            if query >= before:
                self.count += 1
                example = examples[min(query - before, len(examples) - 1)]
                self.positions = [*self.positions, example.position][-_LATEST:]


def adaptive_part(ranker: Ranker) -> Adaptive | None:
    """Return what adapts in a ranker: itself, or a ranker that it wraps, with names of features."""
    part: object = ranker
    names: Sequence[str] = ()
    while part is not None and not isinstance(part, Adaptive):
        if isinstance(part, Described) and part.features is not None:
            names = part.features.encoded_names
        part = getattr(part, "ranker_", None)
    if not isinstance(part, Adaptive) or not part.is_fitted:
        return None
    return with_feature_names(part, names) if names else part


def queries_seen(ranker: Ranker) -> int:
    """Return how many queries the part that adapts has seen."""
    adaptive = adaptive_part(ranker)
    return 0 if adaptive is None else adaptive.n_queries_seen_
