"""What operators do with a journal: look, verify, bring in, take out, make smaller."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError, MissingExtraError, RankloopError
from rankloop.feedback.rules import feedback_grades, judged_grades
from rankloop.serving.entries import (
    Closed,
    Configured,
    Entry,
    Judged,
    Observed,
    Ranked,
    packed,
)
from rankloop.serving.history import audited
from rankloop.serving.joins import Joins
from rankloop.serving.journal.base import Draft, JournalError
from rankloop.serving.routes.feedback import Event, LoggedRanking, logged, observed
from rankloop.serving.snapshots import brought_back, replayed, saved_state
from rankloop.serving.state import ENGINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from rankloop.serving.config import LoopSettings
    from rankloop.serving.engine import Engine
    from rankloop.serving.journal.base import Journal

_AT_ONCE = 2000  # entries a transaction
_MOST_ITEMS = 100_000  # of a logged ranking


class Stats(NamedTuple):
    """A journal at a glance: entries by kind, bytes of all, when the first and the last came."""

    entries: int
    kinds: dict[str, int]
    bytes: int
    first: int
    last: int
    states: list[int]


def stats(journal: Journal) -> Stats:
    """Look at a journal."""
    kinds: Counter[str] = Counter()
    size, first, last, after = 0, 0, 0, 0
    while rows := journal.rows(after, limit=_AT_ONCE):
        for row in rows:
            kinds[(row.key or "configured").partition(":")[0]] += 1
            size += len(row.body)
        first = first or rows[0].at
        after, last = rows[-1].position, rows[-1].at
    states = [saved.position for saved in journal.saved()]
    return Stats(after, dict(kinds), size, first, last, states)


class Verified(NamedTuple):
    """What a check of a journal found; `faults` is empty where all is well."""

    entries: int
    digest: str
    rankings_recomputed: int
    faults: list[str]


def verify(journal: Journal, rankings: int = 20) -> Verified:
    """Replay all entries, compare all digests, and recompute some rankings.

    Parameters
    ----------
    rankings : how many to recompute, spread over the journal; each costs a replay up to it
    """
    faults: list[str] = []
    try:
        engine = replayed(journal)
    except RankloopError as error:
        return Verified(journal.head(), "", 0, [str(error)])
    try:
        if brought_back(journal).digest() != engine.digest():
            faults.append("the saved state is not the one that the entries lead to; delete it")
    except RankloopError as error:
        faults.append(str(error))
    ids = [r.entry.id for r in journal.scan() if isinstance(r.entry, Ranked)]
    chosen = ids[:: max(len(ids) // rankings, 1)][:rankings] if rankings else []
    for ranking_id in chosen:
        faults += [f"ranking {ranking_id}: {fault}" for fault in audited(journal, ranking_id)]
    return Verified(engine.position, engine.digest(), len(chosen), faults)


def exported(journal: Journal) -> QueryDataset:
    """Return what people said of rankings as one data set, for batch learners.

    A query is a ranking that was closed with feedback, or judged; a document's grade is what its
    feedback is worth by the rules at the end of the journal, below 0 where it was not shown.
    """
    settings = _settings(journal)
    rules = settings.rules()
    joins = Joins()
    X, y, names, sizes = [], [], [], []

    def add(name: str, entry: Ranked, grades: NDArray[np.float64]) -> None:
        if (grades > 0).any():
            X.append(entry.matrix())
            y.append(grades)
            names.append(name)
            sizes.append(len(grades))

    for record in journal.scan():
        entry = record.entry
        if isinstance(entry, Ranked):
            joins.ranked(entry.id, record.position, record.at)
        elif isinstance(entry, Observed):
            joins.observed(
                entry.ranking_id, record.position, settings.most_early, settings.most_events
            )
        elif isinstance(entry, Closed):
            waiting = joins.close(entry.ranking_id, settings.most_closed)
            if waiting is not None and waiting.events:
                ranked = _ranked(journal, waiting.position)
                ranking = ranked.ranking()
                found = [journal.at(place) for place in waiting.events]
                events = [e.feedback() for e in found if isinstance(e, Observed)]
                shown = [event for event in events if event.item in ranking.places]
                add(ranked.id, ranked, feedback_grades(ranking, shown, rules))
        elif isinstance(entry, Judged):
            ranked = _ranked(journal, entry.position)
            grades = judged_grades(ranked.ranking(), entry.judgement())
            add(f"{ranked.id} {entry.id}", ranked, grades)
    if not names:
        raise DataError(f"{journal.where}: no ranking has feedback or grades yet")
    return QueryDataset(
        np.concatenate(X),
        np.concatenate(y),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.array(names),
        feature_names=settings.names,
    )


def import_judged(journal: Journal, data: QueryDataset, name: str = "judged") -> int:
    """Append judged queries as rankings with judgements, to start a loop warm; return how many.

    They are named after `name` and the query, so that importing them again adds nothing.
    """
    settings = _settings(journal)
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
    settings = _settings(journal)
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


def compact(journal: Journal, archive: Path, until: int | None = None) -> int:
    """Write old entries into a Parquet file and keep only their keys; return up to which position.

    A state is saved first, from which the loop starts again. What it may still ask for, such as
    rankings that wait for feedback, stays. What was compacted cannot be replayed any more, nor
    rolled back to, but sending it again is still a duplicate.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "an archive of entries") from None
    engine = brought_back(journal, until=until)
    needed = [engine.position + 1]
    needed += [one.position for one in engine.joins.open.values()]
    needed += [place for one in engine.joins.open.values() for place in one.events]
    needed += [place for places in engine.joins.early.values() for place in places]
    last = min(needed) - 1
    first = journal.base() + 1
    if last < first:
        raise DataError(f"{journal.where}: nothing to compact: open rankings need entry {last + 1}")
    if archive.exists():
        raise DataError(f"{archive}: there is such a file already; name another one")
    journal.save(saved_state(engine))
    columns = ("position", "at", "key", "fingerprint", "body", "check")
    kinds = (pa.int64(), pa.int64(), pa.string(), pa.binary(), pa.binary(), pa.int64())
    schema = pa.schema(zip(columns, kinds, strict=True))
    with pq.ParquetWriter(archive, schema, compression="zstd") as writer:
        after = first - 1
        while rows := journal.rows(after, last, _AT_ONCE):
            columns_of = dict(zip(columns, zip(*rows, strict=True), strict=True))
            writer.write_table(pa.table({k: list(v) for k, v in columns_of.items()}, schema))
            after = rows[-1].position
    journal.empty(last)
    return last


def configured(journal: Journal, settings: LoopSettings) -> None:
    """Make sure that a journal begins with settings."""
    if journal.head() == 0:
        journal.append([Draft(Configured(settings.journaled(), ENGINE), 0)])


def described(engine: Engine) -> dict[str, Any]:
    """Return a state as plain values for people."""
    models = {
        name: {
            "version": model.version,
            "recent": model.curve.recent,
            "mean": model.curve.mean,
            "rankings": model.curve.n,
            "digest": model.ranker.digest(),
        }
        for name, model in engine.models.items()
    }
    return {
        "position": engine.position,
        "digest": engine.digest(),
        "champion": engine.champion,
        "models": models,
        "counters": msgspec.to_builtins(engine.counters),
    }


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


def _settings(journal: Journal) -> LoopSettings:
    from rankloop.serving.config import LoopSettings

    found = None
    for record in journal.scan(journal.base()):
        if isinstance(record.entry, Configured):
            found = msgspec.json.decode(record.entry.settings, type=LoopSettings)
    if found is None:
        saved = brought_back(journal).settings if journal.saved() else None
        if saved is None:
            raise JournalError(f"{journal.where}: it holds no settings; start the loop once first")
        return saved
    return found


def _ranked(journal: Journal, position: int) -> Ranked:
    entry = journal.at(position)
    if not isinstance(entry, Ranked):
        raise JournalError(f"{journal.where}: entry {position} is no ranking")
    return entry
