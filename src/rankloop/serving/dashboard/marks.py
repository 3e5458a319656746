"""What people did to a loop, as marks on its curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.journal.action_entries import (
    Configured,
    ExperimentEnded,
    ExperimentStarted,
    ModelAdded,
    ModelRemoved,
    Promoted,
    Quarantined,
    RolledBack,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.ensembles.adaptive import Adaptive
    from rankloop.serving.journal.base import Record

_MOVED = 3


class Mark(msgspec.Struct, frozen=True):
    """An action, or the result of an experiment: when, at which position, and in words."""

    at: float
    position: int
    kind: str
    words: str


def change_mark(record: Record, model: str, ranker: Adaptive, labels: Mapping[str, str]) -> Mark:
    """Return the mark of a change that a model noticed after this entry.

    labels : readable names of features
    """
    words = f"{model} noticed that people or items changed"
    moved = [labels.get(p["feature"], p["feature"]) for p in ranker.moved_weights()[:_MOVED]]
    if moved:
        words += f"; what counts differently now: {', '.join(moved)}"
    return Mark(record.at / 1000, record.position, "change", words)


def as_mark(record: Record, promotes: str = "") -> Mark | None:
    """Return the mark of an entry; None for ordinary entries.

    `promotes` is the id of the experiment whose winner becomes the champion.
    """
    entry = record.entry
    kind = words = ""
    if isinstance(entry, Promoted):
        kind, words = "promotion", f"{entry.model} promoted"
    elif isinstance(entry, RolledBack):
        kind, words = "rollback", f"rolled back; {entry.champion} is champion"
    elif isinstance(entry, ExperimentStarted):
        kind, words = "experiment", f"experiment with {', '.join(entry.challengers)} started"
    elif isinstance(entry, ExperimentEnded) and entry.winner and entry.id == promotes:
        kind, words = "promotion", f"{entry.winner} promoted: it won an experiment"
    elif isinstance(entry, ExperimentEnded):
        kind, words = "experiment", "experiment ended"
    elif isinstance(entry, ModelAdded):
        kind, words = "model", f"model {entry.name} added"
    elif isinstance(entry, ModelRemoved):
        kind, words = "model", f"model {entry.name} removed"
    elif isinstance(entry, Quarantined):
        kind, words = "quarantine", f"entry {entry.position} left out"
    elif isinstance(entry, Configured):
        kind, words = "settings", "settings stored"
    if not kind:
        return None
    details = [getattr(entry, "by", ""), getattr(entry, "reason", "")]
    detail_text = ": ".join(detail for detail in details if detail)
    return Mark(
        record.at / 1000,
        record.position,
        kind,
        f"{words} ({detail_text})" if detail_text else words,
    )
