"""Whether stored features are those that a replay computes, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from rankloop.serving.engine.joins import Joins
from rankloop.serving.journal.action_entries import Configured
from rankloop.serving.journal.cache import EntryCache, make_fetch
from rankloop.serving.journal.ranking_entries import Ranked
from rankloop.serving.live_features.fold import FeatureFold, request_of
from rankloop.serving.live_features.saving import restore_fold
from rankloop.serving.operations.past_features import read_texts
from rankloop.serving.settings.loop import LoopSettings
from rankloop.serving.threads.live_joins import LiveJoins

if TYPE_CHECKING:
    from rankloop.features.definitions import Definitions
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.security.vault import Vault


class FeatureCheck(NamedTuple):
    """How many rankings were recomputed, and what differed; `faults` is empty if all is well."""

    rankings: int
    faults: list[str]


def check_features(journal: Journal, vault: Vault | None = None) -> FeatureCheck:
    """Compute the features of every ranking again, and compare all bits with those stored.

    Cost: a replay of items and counters for each set of definitions that the loop has had. Columns
    that depend on the text of a query are compared only if the text can be decrypted.

    Parameters
    ----------
    vault : decrypts the texts of queries
    """
    sets = _read_sets(journal)
    total, faults = 0, []
    for columns, (settings, wanted) in sets.items():
        n, found = _check_set(journal, vault, settings, columns, wanted)
        total += n
        faults += found
    return FeatureCheck(total, faults)


def _read_sets(journal: Journal) -> dict[int, tuple[LoopSettings, dict[int, list[int]]]]:
    """Return each set of definitions by its position, with the rankings that were computed by it.

    Rankings are given by the position of the features that they were computed from.
    """
    settings: dict[int, LoopSettings] = {}
    wanted: dict[int, dict[int, list[int]]] = {}
    for record in journal.scan(journal.base()):
        entry = record.entry
        if isinstance(entry, Configured):
            settings[record.position] = msgspec.json.decode(entry.settings, type=LoopSettings)
        elif isinstance(entry, Ranked) and entry.computed is not None:
            by_position = wanted.setdefault(entry.computed.columns, {})
            by_position.setdefault(entry.computed.after, []).append(record.position)
    if wanted.keys() - settings.keys():  # settings that were compacted are in the saved features
        for position in sorted(wanted.keys() - settings.keys()):
            settings[position] = _settings_of(journal)
    return {columns: (settings[columns], wanted[columns]) for columns in wanted}


def _settings_of(journal: Journal) -> LoopSettings:
    from rankloop.serving.operations.settings import settings_of

    return settings_of(journal)


def _check_set(
    journal: Journal,
    vault: Vault | None,
    settings: LoopSettings,
    columns: int,
    wanted: dict[int, list[int]],
) -> tuple[int, list[str]]:
    recent = EntryCache()
    fetch = make_fetch(recent, journal)
    restored = None
    if journal.base():
        oldest = min(journal.fold_positions(), default=0)
        restored = restore_fold(journal, settings, fetch, oldest)
    if restored is None:
        live = LiveJoins(0, None, Joins(), 0, FeatureFold(settings, columns, fetch))
    else:
        live = LiveJoins(
            restored.fold.position, restored.settings, restored.joins, 0, restored.fold
        )
    n, faults = 0, []
    for record in recent.follow(journal, live.position, max(wanted)):
        live.follow([record], record.at)
        for position in wanted.get(record.position, ()):
            ranked = journal.at(position)
            if isinstance(ranked, Ranked):
                n += 1
                faults += _compare(journal, vault, live, ranked)
    return n, faults


def _compare(journal: Journal, vault: Vault | None, live: LiveJoins, ranked: Ranked) -> list[str]:
    """Return what differs between stored and recomputed features of a ranking."""
    assert live.features is not None
    assert ranked.computed is not None
    definitions = live.features.definitions
    names, stored = live.features.settings.names, ranked.matrix()
    if stored.shape[1] != len(names):
        return [f"ranking {ranked.id}: it has {stored.shape[1]} features, expected {len(names)}"]
    given = [names.index(name) for name in definitions.given]
    text = read_texts(journal, vault, ranked)
    request = request_of(ranked.computed.asker, text)
    sent = np.ascontiguousarray(stored[:, given]) if given else None
    again = live.compute(ranked.items, request, ranked.computed.at, sent).X
    skipped = set() if text else _columns_of_text(definitions)
    differ = [
        name
        for column, name in enumerate(names)
        if name not in skipped and stored[:, column].tobytes() != again[:, column].tobytes()
    ]
    if not differ:
        return []
    return [f"ranking {ranked.id}: these features differ: {', '.join(differ[:10])}"]


def _columns_of_text(definitions: Definitions) -> set[str]:
    """Return the columns of features that read a text of the request."""
    fields = definitions.fields["request"]
    texts = {f"request.{name}" for name, field in fields.items() if field.type == "text"}
    found = set()
    for feature in definitions.features:
        options = {**definitions.source[feature.name], "per": ()}  # counters have only hashes
        words = str(list(options.values()))
        if any(f"'{text}'" in words for text in texts):
            found |= {column.name for column in feature.columns}
    return found
