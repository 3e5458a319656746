"""The entries of a journal, and their bytes.

An entry is a value that never changes. Its `key` identifies it, so that an entry that is sent twice
is stored once; two entries with the same key are duplicates if they have the same `identity`. `by`
is the name of the token of the person who acted, and empty if the loop itself acted.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
import numpy as np
import zstandard

from rankloop import _core
from rankloop.clicks.interleaving.team_draft import SHARED
from rankloop.exceptions import DataError
from rankloop.feedback.events import Feedback, Judgement
from rankloop.feedback.ranking import Ranking
from rankloop.serving.journal.base_entry import BaseEntry, canonical
from rankloop.serving.journal.feature_entries import (
    Computed,
    Counted,
    ItemsChanged,
    UsersChanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from _typeshed import ReadableBuffer
    from numpy.typing import NDArray

    T = TypeVar("T")

COMPRESS_FROM = 65_536
"""Features of at least this many bytes are compressed; smaller ones gain too little."""

LOGGED = "logged"
"""The policy of a ranking that another system made and showed."""

JUDGED = "judged"
"""The policy of judged data that was imported: nobody saw a ranking."""


class Configured(BaseEntry, frozen=True, tag="configured"):
    """The loop's settings from here on: features, rankers, grades of feedback."""

    settings: bytes
    engine: int


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
            return _encoder.encode((None, None, self.items, self.computed.sent))
        return _encoder.encode((None, None, self.items, self.width)) + self.features

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


class ModelAdded(BaseEntry, frozen=True, tag="model_added"):
    """A model is added as a challenger; it continues to learn if it can."""

    name: str
    model: bytes
    by: str = ""

    @property
    def key(self) -> str:
        """The name of the model; each name is used once."""
        return f"model:{self.name}"


class ModelRemoved(BaseEntry, frozen=True, tag="model_removed"):
    """A model that is neither champion nor in an experiment is dropped; its name stays taken."""

    id: str
    name: str
    by: str = ""

    @property
    def key(self) -> str:
        """The id of the action."""
        return f"action:{self.id}"


class Promoted(BaseEntry, frozen=True, tag="promoted"):
    """A challenger becomes the champion; `holdback` is the share of rankings that check it."""

    id: str
    model: str
    reason: str = ""
    holdback: float = 0.0
    by: str = ""

    @property
    def key(self) -> str:
        """The id of the action."""
        return f"action:{self.id}"


class RolledBack(BaseEntry, frozen=True, tag="rolled_back"):
    """Models return to the state of a replay, up to a position or without some events.

    to, without : the position, or the ids of the events, so that a later replay without further
        events can do the same again
    """

    id: str
    models: dict[str, bytes]
    champion: str
    reason: str = ""
    by: str = ""
    to: int = 0
    without: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The id of the action."""
        return f"action:{self.id}"


class ExperimentStarted(BaseEntry, frozen=True, tag="experiment_started"):
    """The champion and its challengers, as they are now, are interleaved from here on.

    promote : what happens to a winner: nothing, promotion as it is then, or as it won
    share : the share of rankings that are interleaved
    holdback : the share of rankings on which a promoted winner is then still compared with the
        old champion
    """

    id: str
    challengers: list[str]
    promote: Literal["no", "auto", "snapshot"] = "no"
    share: float = 1.0
    holdback: float = 0.0
    by: str = ""

    @property
    def key(self) -> str:
        """The id of the experiment."""
        return f"experiment:{self.id}"


class ExperimentEnded(BaseEntry, frozen=True, tag="experiment_ended"):
    """The experiment is over; `winner` is the model that was proven best, or empty."""

    id: str
    reason: str = ""
    winner: str = ""
    by: str = ""

    @property
    def key(self) -> str:
        """The id of the experiment, which ends once."""
        return f"ended:{self.id}"


class EpochStarted(BaseEntry, frozen=True, tag="epoch_started"):
    """Another version of the engine continues here, from the full state after an earlier entry."""

    engine: int
    after: int
    state: bytes

    @property
    def key(self) -> str:
        """The version and the entry after which it starts; another attempt has another key."""
        return f"epoch:{self.engine}:{self.after}"


class Quarantined(BaseEntry, frozen=True, tag="quarantined"):
    """An entry is left out from here on: the state is the one that all others give.

    position : of the entry that is left out
    after, state : the full state after an earlier entry, without the one that is left out
    """

    position: int
    after: int
    state: bytes
    reason: str = ""
    by: str = ""

    @property
    def key(self) -> str:
        """The position, and the entry after which the state is; another attempt has another key."""
        return f"quarantined:{self.position}:{self.after}"


class Compacted(BaseEntry, frozen=True, tag="compacted"):
    """Entries up to a position are only in the archive from here on; nothing refers to them."""

    until: int

    @property
    def key(self) -> str:
        """The position."""
        return f"compacted:{self.until}"


class Retried(BaseEntry, frozen=True, tag="retried"):
    """An entry that failed is applied again, for example by a version without the fault."""

    id: str
    position: int
    by: str = ""

    @property
    def key(self) -> str:
        """The id of the action."""
        return f"action:{self.id}"


class Forgotten(BaseEntry, frozen=True, tag="forgotten"):
    """A person's keys were destroyed: what was encrypted with them can no longer be read.

    counters : hashes of the person, whose counters and fields are removed
    """

    id: str
    keys: list[bytes]
    by: str = ""
    counters: tuple[bytes, ...] = ()

    @property
    def key(self) -> str:
        """The id of the action."""
        return f"forgotten:{self.id}"

    def identity(self, body: bytes) -> bytes:  # noqa: ARG002
        """Return only the request: when it is sent again, the keys no longer exist."""
        return _encoder.encode((self.id, self.by))


class Checked(BaseEntry, frozen=True, tag="checked"):
    """The digests of the state at a position, and of the features that the loop computes."""

    position: int
    digest: str
    features: str = ""

    @property
    def key(self) -> str:
        """The position, which is checked once."""
        return f"checked:{self.position}"


_NotRanked: TypeAlias = (
    Configured
    | Observed
    | Judged
    | Paged
    | Closed
    | ModelAdded
    | ModelRemoved
    | Promoted
    | RolledBack
    | ExperimentStarted
    | ExperimentEnded
    | EpochStarted
    | Quarantined
    | Retried
    | Compacted
    | Forgotten
    | Checked
    | ItemsChanged
    | UsersChanged
    | Counted
)
Entry: TypeAlias = Ranked | _NotRanked

TRAFFIC = (Observed, Ranked, Closed, Paged, Judged, Checked, Counted, ItemsChanged, UsersChanged)
"""The entries of ordinary traffic; all others are actions and settings."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Entry)
_id_decoder = msgspec.msgpack.Decoder(RankedId | _NotRanked)


encode: Callable[[Entry], bytes] = _encoder.encode
"""Return an entry's bytes."""


def decode(body: bytes) -> Entry:
    """Return the entry of these bytes.

    >>> decode(encode(Closed("r1")))
    Closed(ranking_id='r1')
    """
    entry: Entry = _decode(_decoder, body)
    return entry


def decode_ids(body: bytes) -> Any:
    """Return the entry of these bytes; of a ranking only its id, which takes a fifth of the time.

    >>> decode_ids(encode(Ranked("r1", ["a"], 1, b"1234", [0], b"12345678")))
    RankedId(id='r1')
    """
    return _decode(_id_decoder, body)


def _decode(decoder: msgspec.msgpack.Decoder[T], body: bytes) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"this is not a journal entry: {error}") from None


def pack_features(X: NDArray[np.float32]) -> tuple[bytes, bool]:
    """Return features as bytes, and whether they are compressed."""
    blob = np.ascontiguousarray(X, "<f4").tobytes()
    if len(blob) < COMPRESS_FROM:
        return blob, False
    return zstandard.ZstdCompressor(level=1).compress(blob), True


def digest_of(*parts: ReadableBuffer) -> bytes:
    """Return 16 bytes that depend on every bit of these parts."""
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.digest()
