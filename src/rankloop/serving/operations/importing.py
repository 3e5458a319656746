"""Import into a journal: judged data for a warm start, and logs of other systems."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec
import numpy as np

from rankloop.exceptions import DataError, RankloopError
from rankloop.feedback.grading import MAX_GRADE
from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.entries import Entry
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import JUDGED, Closed, Judged, Ranked, pack_features
from rankloop.serving.operations.columns import columns_for
from rankloop.serving.operations.history import History, LogSource, import_history
from rankloop.serving.operations.settings import configure, settings_of
from rankloop.serving.routes.feedback import Event, LoggedRanking, make_events, make_given_ranking
from rankloop.serving.settings.loop import fault_of_value
from rankloop.serving.settings.service import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from rankloop.data.dataset import QueryDataset
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.settings.loop import LoopSettings

    E = TypeVar("E", bound=Entry)

_AT_ONCE = 2000  # entries a transaction
_MAX_ITEMS = 100_000  # of a logged ranking


def import_files(
    address: str,
    loop: str,
    places: Sequence[str],
    read: Callable[[str], QueryDataset],
    config: Path | None = None,
    at: int = 0,
    logs: bool = True,
    source: LogSource | None = None,
) -> Iterator[str]:
    """Import judged data and logs (.jsonl), and yield a line about each.

    All of it is read and checked first: if something cannot be imported, nothing is changed.

    Parameters
    ----------
    read : reads judged data
    config : settings, to start a journal, or to change those of an existing one
    at : the time, in milliseconds
    logs : whether JSON lines are logs; otherwise they are judged data too
    source : a catalogue, and how to read logs, for a loop that computes features
    """
    source = source or LogSource()
    wanted = None if config is None else settings_in(config, loop)
    if wanted is None:
        with _open_existing(address, loop) as journal:
            settings = settings_of(journal)
    else:
        settings = wanted
    judged = {place: read(place) for place in places if not (logs and _is_log(place))}
    history = [place for place in places if place not in judged and settings.computes]
    if source.items is not None and not settings.computes:
        raise DataError("this loop computes no features, so it has no items; define fields first")
    events = History(source._replace(logs=history), settings)
    for place in places:
        if place in judged:
            _check(judged[place], settings, place)
        elif place not in history:
            with _open(place) as lines:
                for _ in _entries(lines, settings, place):
                    pass
    with open_journal(address, loop) as journal:
        if wanted is not None:
            configure(journal, wanted, at)
        for place in places:
            if place in judged:
                n = import_judged(journal, judged[place], Path(place).name)
                yield f"{place}: {n:,} judged queries"
            elif place not in history:
                with _open(place) as lines:
                    counts = import_logs(journal, lines)
                summary = ", ".join(f"{n:,} {what}" for what, n in counts.items())
                yield f"{place}: {summary or 'nothing'}"
        if events:
            counts = import_history(journal, events, at, source.master_key_file)
            summary = ", ".join(f"{n:,} {what}" for what, n in counts.items())
            names = [str(source.items)] if source.items is not None else []
            yield f"{', '.join([*names, *history])}: {summary or 'nothing new'}"
        yield from events.notes
    if wanted is not None and not _same_place(address, wanted.journal):
        yield (
            f"{config}: a service with these settings has another journal, {wanted.journal}; it "
            f"knows nothing of {address} unless journal = {json.dumps(address)} stands there"
        )


def settings_in(config: Path, loop: str) -> LoopSettings:
    """Return a loop's settings; if there is only one loop, its name does not matter."""
    loops = read_settings(config, os.environ).loops
    if loop not in loops and len(loops) > 1:
        raise DataError(
            f"{config}: there is no loop {loop!r}; choose one with --loop: {', '.join(loops)}"
        )
    return loops.get(loop) or next(iter(loops.values()))


def _open_existing(address: str, loop: str) -> Journal:
    """Open a journal that already exists."""
    if "://" not in address and not Path(address).exists():
        raise DataError(
            f"{address}: there is no such journal; to start one, give a settings file with "
            "--config (`rankloop serve FILE --init` writes one)"
        )
    return open_journal(address, loop)


def _same_place(address: str, other: str) -> bool:
    if "://" in address or "://" in other:
        return address == other
    return Path(address).resolve() == Path(other).resolve()


def _is_log(place: str) -> bool:
    return place.endswith((".jsonl", ".ndjson"))


def _open(place: str) -> BinaryIO:
    try:
        return Path(place).open("rb")
    except OSError as error:
        raise DataError(f"{place}: cannot be read: {error.strerror}") from None


def _check(data: QueryDataset, settings: LoopSettings, place: str) -> None:
    """Raise if judged data cannot be imported; the message names its file."""
    try:
        columns_for(settings, data)
    except DataError as error:
        raise DataError(f"{place}: {error}") from None
    highest = float(max(data.y.tolist(), default=0.0))
    if highest > MAX_GRADE:
        raise DataError(
            f"{place}: found a grade of {highest:g}, expected at most {MAX_GRADE:g}, because "
            "relevance grows as 2^grade; divide the grades, or map them to levels"
        )


def import_judged(journal: Journal, data: QueryDataset, name: str = "judged") -> int:
    """Append judged queries as rankings with judgements, for a warm start; return their number.

    They are named after `name` and the query, so that importing them again adds nothing.
    """
    rows = columns_for(settings_of(journal), data)
    entries: list[Ranked] = []
    for number, query in enumerate(data):
        ids = [str(n) for n in range(len(query.y))]
        order = list(range(len(ids)))
        features, compressed = pack_features(rows[data.offsets[number] : data.offsets[number + 1]])
        scores = np.arange(float(len(ids)), 0, -1).tobytes()
        entries.append(
            Ranked(
                f"{name} {number} {query.id}",
                ids,
                rows.shape[1],
                features,
                order,
                scores,
                policy=JUDGED,
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
    """Append rankings and events that other systems have logged, one JSON object per line.

    A line with `items` is a ranking as :class:`LoggedRanking`, others are events as
    :class:`Event`. All rankings of the import are closed at its end, so that they are learnt.
    """
    opened: list[str] = []
    counts: Counter[str] = Counter()
    for entry, _ in _append(journal, _entries(lines, settings_of(journal))):
        if isinstance(entry, Ranked):
            opened.append(entry.id)
        counts["rankings" if isinstance(entry, Ranked) else "events"] += 1
    if close:
        for _ in _append(journal, (Closed(ranking_id) for ranking_id in opened)):
            counts["closed"] += 1
    return counts


def _entries(
    lines: Iterable[bytes], settings: LoopSettings, place: str | None = None
) -> Iterator[Entry]:
    """Read rankings and events, one per line; raise if one cannot be used."""
    ranking_decoder = msgspec.json.Decoder(LoggedRanking)
    event_decoder = msgspec.json.Decoder(Event)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            if b'"items"' in line:
                yield make_given_ranking(ranking_decoder.decode(line), settings, _MAX_ITEMS)
            else:
                event = event_decoder.decode(line)
                if fault := fault_of_value(settings.rules, event.type, event.value):
                    raise DataError(fault)
                yield from make_events([event])
        except (msgspec.MsgspecError, RankloopError) as error:
            where = f"line {number}" if place is None else f"{place}: line {number}"
            raise DataError(f"{where}: {error}") from None


def _append(journal: Journal, entries: Iterable[E]) -> Iterator[tuple[E, int]]:
    """Append entries some thousands at a time, and yield each with its position."""
    batch: list[E] = []

    def send() -> Iterator[tuple[E, int]]:
        outcomes = journal.append([make_row(entry, 0) for entry in batch])
        for entry, outcome in zip(batch, outcomes, strict=True):
            if outcome.status == "conflict":
                raise DataError(
                    f"{entry.key} is already stored with other contents; nothing more was added"
                )
            yield entry, outcome.position

    for entry in entries:
        batch.append(entry)
        if len(batch) == _AT_ONCE:
            yield from send()
            batch = []
    if batch:
        yield from send()
