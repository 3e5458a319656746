"""What a change moved: the weights of features before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.rankers.explaining import with_feature_names
from rankloop.rankers.wrappers.prepared import OnlinePrepared

if TYPE_CHECKING:
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.online.base import OnlineRanker


def compare_weights(before: OnlineRanker, now: OnlineRanker, names: tuple[str, ...]) -> Parts:
    """Return the weights of both for each feature, those that differ most first."""
    old, new = unit_weights(before, names), unit_weights(now, names)
    moved = [
        {"feature": name, "before": old.get(name, 0.0), "now": weight}
        for name, weight in new.items()
    ]
    return sorted(moved, key=lambda part: -abs(part["now"] - part["before"]))


def unit_weights(member: OnlineRanker, names: tuple[str, ...]) -> dict[str, float]:
    """Return the weight of each feature, their squares summing to 1; empty if it has none."""
    if isinstance(member, OnlinePrepared) and len(member.maps_) == 1:
        member = member.ranker_  # features keep their names
    try:
        parts = with_feature_names(member, names).explain()
    except DataError:
        return {}
    known = {p["feature"]: p["weight"] for p in parts if p.keys() == {"feature", "weight"}}
    length = sum(weight**2 for weight in known.values()) ** 0.5
    return {name: weight / (length or 1.0) for name, weight in known.items()}
