"""Into a journal: judged data to start warm, and logs of other systems."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from rankloop.exceptions import DataError, RankloopError
from rankloop.serving.entries import Closed, Entry, Judged, Ranked, packed
from rankloop.serving.journal.base import Draft
from rankloop.serving.operations.settings import configured, settings_of
from rankloop.serving.routes.feedback import Event, LoggedRanking, logged, observed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rankloop.data.dataset import QueryDataset
    from rankloop.serving.journal.base import Journal

_AT_ONCE = 2000  # entries a transaction
_MOST_ITEMS = 100_000  # of a logged ranking


def import_files(
    address: str, loop: str, paths: Sequence[Path], config: Path | None = None
) -> Iterator[str]:
    """Import files, and give a line about each."""
    from rankloop.data.io.formats import read
    from rankloop.serving.config import read_settings
    from rankloop.serving.journal.opening import open_journal

    with open_journal(address, loop) as journal:
        if config is not None:
            settings = read_settings(config, os.environ)
            if loop not in settings.loops and len(settings.loops) > 1:
                raise DataError(f"{config}: there is no loop {loop!r}; name one with --loop")
            configured(journal, settings.loops.get(loop) or next(iter(settings.loops.values())))
        for path in paths:
            if path.suffix in (".jsonl", ".ndjson"):
                with path.open("rb") as lines:
                    counts = import_logs(journal, lines)
                found = ", ".join(f"{n:,} {what}" for what, n in counts.items())
                yield f"{path}: {found or 'nothing'}"
            else:
                n = import_judged(journal, read(path), path.name)
                yield f"{path}: {n:,} judged queries"


def import_judged(journal: Journal, data: QueryDataset, name: str = "judged") -> int:
    """Append judged queries as rankings with judgements, to start a loop warm; return how many.

    They are named after `name` and the query, so that importing them again adds nothing.
    """
    settings = settings_of(journal)
    if data.n_features != len(settings.names):
        raise DataError(
            f"the data has {data.n_features} features, but the loop has {len(settings.names)}"
        )
    entries: list[Entry] = []
    for number, query in enumerate(data):
        ids = [str(n) for n in range(len(query.y))]
        order = list(range(len(ids)))
        features, compressed = packed(query.X)
        scores = np.arange(float(len(ids)), 0, -1).tobytes()
        entries.append(
            Ranked(
                f"{name} {number} {query.id}",
                ids,
                data.n_features,
                features,
                order,
                scores,
                policy="logged",
                compressed=compressed,
            )
        )
    positions: dict[str, int] = {}
    for ranked, outcome in _append(journal, entries):
        positions[ranked.id] = outcome
    judged: list[Entry] = []
    for number, query in enumerate(data):
        ranking = f"{name} {number} {query.id}"
        grades = {str(n): float(grade) for n, grade in enumerate(query.y.tolist()) if grade >= 0}
        if grades:
            judged.append(Judged(f"{ranking} grades", ranking, positions[ranking], grades))
            judged.append(Closed(ranking))
    for _ in _append(journal, judged):
        pass
    return len(positions)


def import_logs(journal: Journal, lines: Iterable[bytes], close: bool = True) -> Counter[str]:
    """Append rankings and events that other systems logged, one JSON object a line.

    A line with `items` is a ranking as :class:`LoggedRanking`, others are events as
    :class:`Event`. All rankings of the import are closed at its end, so that they are learnt.
    """
    settings = settings_of(journal)
    ranking_decoder = msgspec.json.Decoder(LoggedRanking)
    event_decoder = msgspec.json.Decoder(Event)
    opened: list[str] = []
    counts: Counter[str] = Counter()

    def entries() -> Iterator[Entry]:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                if b'"items"' in line:
                    entry = logged(ranking_decoder.decode(line), settings, _MOST_ITEMS)
                    opened.append(entry.id)
                    yield entry
                else:
                    yield observed(event_decoder.decode(line))
            except (msgspec.MsgspecError, RankloopError) as error:
                raise DataError(f"line {number}: {error}") from None

    for entry, _ in _append(journal, entries()):
        counts["rankings" if isinstance(entry, Ranked) else "events"] += 1
    if close:
        for _ in _append(journal, (Closed(ranking_id) for ranking_id in opened)):
            counts["closed"] += 1
    return counts


def _append(journal: Journal, entries: Iterable[Entry]) -> Iterator[tuple[Any, int]]:
    """Append entries some thousands at a time, and give each with its position."""
    batch: list[Entry] = []

    def send() -> Iterator[tuple[Any, int]]:
        outcomes = journal.append([Draft(entry, 0) for entry in batch])
        for entry, outcome in zip(batch, outcomes, strict=True):
            if outcome.status == "conflict":
                raise DataError(f"{entry.key} is known with other contents; nothing more was added")
            yield entry, outcome.position

    for entry in entries:
        batch.append(entry)
        if len(batch) == _AT_ONCE:
            yield from send()
            batch = []
    if batch:
        yield from send()
