"""The features of past rankings by the present definitions: a replay of items and counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloop.exceptions import DataError
from rankloop.serving.engine.columns import arrange, columns_of
from rankloop.serving.engine.joins import Joins
from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.journal.base import JournalError
from rankloop.serving.journal.ranking_entries import (
    Closed,
    Judged,
    Observed,
    Paged,
    Ranked,
    RankedId,
)
from rankloop.serving.live_features.fold import FeatureFold
from rankloop.serving.live_features.saving import restore_fold
from rankloop.serving.operations.archives import Entries
from rankloop.serving.threads.live_joins import LiveJoins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.serving.engine.joins import Open
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.operations.archives import Archives
    from rankloop.serving.security.vault import Vault
    from rankloop.serving.settings.loop import LoopSettings


class PastRanking(NamedTuple):
    """A ranking with its feedback, and its features by the present definitions.

    position : of the entry that made the feedback final: the closing, or the judgement
    judged : the grades that somebody gave, instead of events
    """

    ranked: Ranked
    X: NDArray[np.float32]
    position: int
    pages: list[int]
    events: list[Observed]
    judged: Judged | None


class _Wanted(NamedTuple):
    """A ranking to compute, the first of them first."""

    at: int
    ranking: int
    final: int
    waiting: Open | None
    judged: Judged | None


class PastFeatures:
    """Rankings that have feedback, in the order in which they were made.

    Parameters
    ----------
    vault : decrypts the texts of queries, where their keys still exist; without it, features of
        these texts are missing
    archives : of a journal that was compacted; without them, its past begins after that

    Attributes
    ----------
    settings : those that define the features: the last ones
    first : the first position that can be computed; later than 1 after a compaction without
        archives
    """

    def __init__(
        self, journal: Journal, vault: Vault | None = None, archives: Archives | None = None
    ) -> None:
        self._journal, self._vault = journal, vault
        engine = load_engine(journal)
        if engine.settings is None or not engine.settings.computes:
            raise DataError(f"{journal.where}: this loop computes no features")
        self.settings: LoopSettings = engine.settings
        self._columns = engine.columns
        self._entries = Entries(journal, archives)
        self._live = self._start()
        self.first = self._live.position + 1
        self.wanted = self._find_wanted()

    def __len__(self) -> int:
        return len(self.wanted)

    def __iter__(self) -> Iterator[PastRanking]:
        """Yield the rankings; this can be done once."""
        wanted = iter(self.wanted)
        following = next(wanted, None)
        if following is None:
            return
        last = max(w.at for w in self.wanted)
        # Features are those after the entry that the ranking knew, which is just before its own.
        while following is not None and following.at <= self._live.position:
            yield self._compute(following)
            following = next(wanted, None)
        for record in self._entries.follow(self._live.position, last):
            self._live.follow([record], record.at)
            while following is not None and following.at == record.position:
                yield self._compute(following)
                following = next(wanted, None)

    def _start(self) -> LiveJoins:
        """Return the features before the first entry, or those saved by a compaction."""
        journal, settings = self._journal, self.settings
        columns = max(self._columns)
        if self._entries.first == 1:
            fold = FeatureFold(settings, columns, self._entries.fetch)
            return LiveJoins(0, None, Joins(), 0, fold)
        oldest = min(journal.fold_positions(), default=0)
        restored = restore_fold(journal, settings, self._entries.fetch, oldest)
        if restored is None:
            raise JournalError(
                f"{journal.where}: entries up to {journal.base():,} were compacted, and nothing "
                "with the present features was saved after them; give the archives of the journal"
            )
        fold = restored.fold
        return LiveJoins(fold.position, restored.settings, restored.joins, 0, fold)

    def _find_wanted(self) -> list[_Wanted]:
        """Return the rankings that have feedback, by the position of their features."""
        settings, joins = self.settings, Joins()
        found: list[_Wanted] = []
        for record in self._entries.follow(self._entries.first - 1):
            entry, position = record.entry, record.position
            if isinstance(entry, Ranked | RankedId):
                joins.open_ranking(entry.id, position, record.at)
            elif isinstance(entry, Observed):
                joins.add_event(entry.ranking_id, position, settings.max_early, settings.max_events)
            elif isinstance(entry, Paged):
                joins.add_page(entry.ranking_id, entry.page)
            elif isinstance(entry, Closed):
                waiting = joins.close(entry.ranking_id, settings.max_closed)
                if waiting is not None and waiting.events:
                    found.append(_Wanted(0, waiting.position, position, waiting, None))
            elif isinstance(entry, Judged):
                found.append(_Wanted(0, entry.position, position, None, entry))
        placed = [w._replace(at=self._after(w.ranking)) for w in found if w.ranking >= self.first]
        return sorted(placed, key=lambda w: (w.at, w.ranking, w.final))

    def _after(self, position: int) -> int:
        """Return the position of the features that a ranking had."""
        ranked = self._ranked(position)
        return position - 1 if ranked.computed is None else ranked.computed.after

    def _ranked(self, position: int) -> Ranked:
        entry = self._entries.fetch(position)
        if not isinstance(entry, Ranked):
            raise JournalError(f"{self._journal.where}: entry {position} is not a ranking")
        return entry

    def _compute(self, wanted: _Wanted) -> PastRanking:
        ranked, features = self._ranked(wanted.ranking), self._live.features
        assert features is not None
        names = self.settings.names
        before = arrange(ranked.matrix(), columns_of(ranked, self._columns, names), names)
        X = before  # judged data that was imported has its own features
        if ranked.computed is not None:
            given = [names.index(name) for name in self.settings.definitions.given]
            sent = np.ascontiguousarray(before[:, given]) if given else None
            texts = read_texts(self._journal, self._vault, ranked)
            request = features.fitting_request(ranked.computed.asker, texts)
            X = self._live.compute(ranked.items, request, ranked.computed.at, sent).X
        pages = [] if wanted.waiting is None else wanted.waiting.pages
        places = [] if wanted.waiting is None else wanted.waiting.events
        entries = [self._entries.fetch(place) for place in places]
        events = [entry for entry in entries if isinstance(entry, Observed)]
        return PastRanking(ranked, X, wanted.final, pages, events, wanted.judged)


def read_texts(journal: Journal, vault: Vault | None, ranked: Ranked) -> dict[str, str]:
    """Return the text of a ranking's query, if it was stored and not forgotten."""
    if vault is None or ranked.encrypted is None:
        return {}
    personal = vault.decrypt(ranked.id, ranked.encrypted, journal)
    return {} if personal is None or personal.query is None else {"query": personal.query}
