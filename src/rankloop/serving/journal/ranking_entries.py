"""Entries of ordinary traffic: rankings, and what people did with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import zstandard

from rankloop import _core
from rankloop.clicks.interleaving.team_draft import SHARED
from rankloop.feedback.events import Feedback, Judgement
from rankloop.feedback.ranking import Ranking
from rankloop.serving.journal.base_entry import BaseEntry, canonical
from rankloop.serving.journal.feature_entries import Computed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

COMPRESS_FROM = 65_536
"""Features of at least this many bytes are compressed; smaller ones gain too little."""

LOGGED = "logged"
"""The policy of a ranking that another system made and showed."""

JUDGED = "judged"
"""The policy of judged data that was imported: nobody saw a ranking."""

_encode = msgspec.msgpack.Encoder().encode


class Ranked(BaseEntry, frozen=True, tag="ranked"):
    """A ranking that was shown, with all that is needed to learn from it.

    items, features, scores : by candidate; features are rows of float32, scores float64
    order, propensities, teams : by place, from the top
    version, seen : position of the entry that last changed the model that scored them, and of the
        last one that the loop had learnt from
    session : in an experiment, a pseudonym of the person who looked
    encrypted : the personal fields of the request (`security/vault.py`); nothing is learnt from it
    computed : how the features were computed, in a loop that computes them
    """

    id: str
    items: list[str]
    width: int
    features: bytes
    order: list[int]
    scores: bytes
    version: int = 0
    seen: int = 0
    model: str = ""
    policy: str = "best-first"
    propensities: bytes | None = None
    teams: list[int] | None = None
    experiment: str | None = None
    session: str | None = None
    compressed: bool = False
    encrypted: bytes | None = None
    computed: Computed | None = None

    @property
    def key(self) -> str:
        """The id of the ranking."""
        return f"ranking:{self.id}"

    def identity(self, body: bytes) -> bytes:  # noqa: ARG002
        """Return only the request; its answer depends on when it was sent.

        Personal fields are left out: they could be guessed from a digest after they are forgotten.
        """
        if self.computed is not None:  # computed features depend on when it was sent, too
            return _encode((None, None, self.items, self.computed.sent))
        return _encode((None, None, self.items, self.width)) + self.features

    def matrix(self) -> NDArray[np.float32]:
        """Return the features, one row per candidate."""
        blob = self.features
        if self.compressed:
            blob = zstandard.decompress(blob, max_output_size=4 * self.width * len(self.items))
        return np.frombuffer(blob, np.float32).reshape(len(self.items), self.width)

    def page(self, number: int) -> list[int]:
        """Return the candidates of a page, counted from 1.

        The first is `order`. Each further page has the same length, with the best items first.
        """
        if number == 1:
            return self.order
        size, first = len(self.order), set(self.order)
        scores = np.frombuffer(self.scores, np.float64)
        best = _core.rank_rows(scores, np.array([0, len(scores)]), None, 1).tolist()
        left = [row for row in best if row not in first]
        return left[(number - 2) * size : (number - 1) * size]

    def shown(self, pages: Sequence[int] = ()) -> list[int]:
        """Return the candidates that were shown: the first page, and further ones."""
        return self.order + [row for number in sorted(pages) for row in self.page(number)]

    def ranking(
        self,
        pages: Sequence[int] = (),
        named: bool = False,
        X: NDArray[np.float32] | None = None,
    ) -> Ranking:
        """Return it as a ranking for training data, with the further pages that were shown.

        Further pages belong to no team, and were not drawn at random. Feedback is joined by
        `places`; `named` also gives all candidates their ids, which doubles the time. `X` replaces
        the features, whose columns may have changed since.
        """
        shown = self.shown(pages)
        order = np.array(shown, np.int64)
        more = len(order) - len(self.order)
        chances, teams = self.propensities, self.teams
        ranking = Ranking(
            self.id,
            order,
            np.frombuffer(self.scores, np.float64),
            self.version,
            None,
            np.array(self.items) if named else None,
            self.matrix() if X is None else X,
            None
            if chances is None
            else np.concatenate([np.frombuffer(chances, np.float64), np.ones(more)]),
            None if teams is None else np.array(teams + [SHARED] * more, np.int64),
            f"{self.policy}, then best-first" if more else self.policy,
        )
        items = self.items
        vars(ranking)["places"] = {items[row]: place for place, row in enumerate(shown)}
        return ranking


class RankedId(BaseEntry, frozen=True, tag="ranked"):
    """Only the id of a ranking, which is all that a replay needs until the ranking is closed."""

    id: str


class Observed(BaseEntry, frozen=True, tag="observed"):
    """An action of a person on one document of a ranking, such as a click."""

    id: str
    ranking_id: str
    item: str
    type: str = "click"
    value: float = 1.0
    timestamp: float | None = None

    @property
    def key(self) -> str:
        """The id of the event."""
        return f"event:{self.id}"

    def feedback(self) -> Feedback:
        """Return it as a value for training data."""
        return Feedback(self.ranking_id, self.item, self.type, self.value, self.timestamp, self.id)


class Judged(BaseEntry, frozen=True, tag="judged"):
    """Grades that somebody gave to documents of a ranking; `position` is the ranking's."""

    id: str
    ranking_id: str
    position: int
    grades: dict[str, float]
    timestamp: float | None = None

    @property
    def key(self) -> str:
        """The id of the event."""
        return f"event:{self.id}"

    def identity(self, body: bytes) -> bytes:  # noqa: ARG002
        """Return the judgement without the order in which grades were sent."""
        return canonical((self.id, self.ranking_id, self.position, self.grades, self.timestamp))

    def judgement(self) -> Judgement:
        """Return it as a value for training data."""
        return Judgement(self.ranking_id, self.grades, self.timestamp, self.id)


class Paged(BaseEntry, frozen=True, tag="paged"):
    """A further page of a ranking was shown, counted from 2."""

    ranking_id: str
    page: int

    @property
    def key(self) -> str:
        """The page and its ranking; a page is stored once, even if it is requested again."""
        return f"page:{self.page}:{self.ranking_id}"


class Closed(BaseEntry, frozen=True, tag="closed"):
    """The window of a ranking is over: models learn from its feedback now."""

    ranking_id: str

    @property
    def key(self) -> str:
        """The id of the ranking, which is closed once."""
        return f"closed:{self.ranking_id}"


def pack_features(X: NDArray[np.float32]) -> tuple[bytes, bool]:
    """Return features as bytes, and whether they are compressed."""
    blob = np.ascontiguousarray(X, "<f4").tobytes()
    if len(blob) < COMPRESS_FROM:
        return blob, False
    return zstandard.ZstdCompressor(level=1).compress(blob), True
