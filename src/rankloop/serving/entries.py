"""The entries of a journal, and their bytes.

An entry is a value that never changes. Its `key` names it once and for all, so that whatever is
sent twice is stored once; what it `said` is the same where two entries of one key are.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import zstandard

from rankloop.exceptions import DataError
from rankloop.feedback.events import Feedback, Judgement
from rankloop.feedback.ranking import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMPRESS_FROM = 65_536
"""Features of at least this many bytes are compressed; smaller ones gain too little."""


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    @property
    def key(self) -> str | None:
        """What names this entry in the journal; None where any number may be alike."""
        return None

    def said(self, body: bytes) -> bytes:
        """Return what is the same where, and only where, the same was sent, as these bytes."""
        return body


class Configured(_Entry, frozen=True, tag="configured"):
    """The loop's settings from here on: features, learners, what feedback is worth."""

    settings: bytes
    engine: int


class Ranked(_Entry, frozen=True, tag="ranked"):
    """What was shown, with all that is needed to learn from it.

    items, features, scores : by candidate; features are rows of float32, scores float64
    order, propensities, teams : by place, from the top
    version, seen : position of the entry that last changed the model that scored them, and of the
        last one that the loop had learnt from
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
    query: str | None = None
    session: str | None = None
    compressed: bool = False

    @property
    def key(self) -> str:
        """A ranking's id is its own."""
        return f"ranking:{self.id}"

    def said(self, body: bytes) -> bytes:  # noqa: ARG002
        """Return the question alone; its answer depends on when it was asked."""
        question = (self.query, self.session, self.items, self.width)
        return _encoder.encode(question) + self.features

    def matrix(self) -> NDArray[np.float32]:
        """Return the features, a row a candidate."""
        blob = self.features
        if self.compressed:
            blob = zstandard.decompress(blob, max_output_size=4 * self.width * len(self.items))
        return np.frombuffer(blob, np.float32).reshape(len(self.items), self.width)

    def ranking(self, features: bool = True) -> Ranking:
        """Return it as lessons take it."""
        chances = self.propensities
        return Ranking(
            self.id,
            np.array(self.order, np.int64),
            np.frombuffer(self.scores, np.float64),
            self.version,
            self.query,
            np.array(self.items),
            self.matrix() if features else None,
            None if chances is None else np.frombuffer(chances, np.float64),
            None if self.teams is None else np.array(self.teams, np.int64),
            self.policy,
        )


class Observed(_Entry, frozen=True, tag="observed"):
    """What somebody did with one document of a ranking."""

    id: str
    ranking_id: str
    item: str
    type: str = "click"
    value: float = 1.0
    timestamp: float | None = None

    @property
    def key(self) -> str:
        """An event's id is its own."""
        return f"event:{self.id}"

    def feedback(self) -> Feedback:
        """Return it as lessons take it."""
        return Feedback(self.ranking_id, self.item, self.type, self.value, self.timestamp, self.id)


class Judged(_Entry, frozen=True, tag="judged"):
    """Grades that somebody gave to documents of a ranking; `position` is the ranking's."""

    id: str
    ranking_id: str
    position: int
    grades: dict[str, float]
    timestamp: float | None = None

    @property
    def key(self) -> str:
        """An event's id is its own."""
        return f"event:{self.id}"

    def judgement(self) -> Judgement:
        """Return it as lessons take it."""
        return Judgement(self.ranking_id, self.grades, self.timestamp, self.id)


class Closed(_Entry, frozen=True, tag="closed"):
    """A ranking's window is over: what was observed is learnt now."""

    ranking_id: str

    @property
    def key(self) -> str:
        """A ranking is closed once."""
        return f"closed:{self.ranking_id}"


class ModelAdded(_Entry, frozen=True, tag="model_added"):
    """A model joins as a challenger; it learns on if it can."""

    name: str
    model: bytes

    @property
    def key(self) -> str:
        """A name is given once."""
        return f"model:{self.name}"


class Promoted(_Entry, frozen=True, tag="promoted"):
    """A challenger becomes the champion."""

    id: str
    model: str
    reason: str = ""

    @property
    def key(self) -> str:
        """An act has an id of its own."""
        return f"act:{self.id}"


class RolledBack(_Entry, frozen=True, tag="rolled_back"):
    """Learners take the state that a replay reached: up to a position, or without some entries."""

    id: str
    models: dict[str, bytes]
    champion: str
    reason: str = ""

    @property
    def key(self) -> str:
        """An act has an id of its own."""
        return f"act:{self.id}"


class ExperimentStarted(_Entry, frozen=True, tag="experiment_started"):
    """The champion and a challenger, as they are now, are interleaved from here on."""

    id: str
    challenger: str
    alpha: float = 0.05
    promote: bool = False

    @property
    def key(self) -> str:
        """An experiment's id is its own."""
        return f"experiment:{self.id}"


class ExperimentEnded(_Entry, frozen=True, tag="experiment_ended"):
    """The experiment is over."""

    id: str
    reason: str = ""

    @property
    def key(self) -> str:
        """An experiment ends once."""
        return f"ended:{self.id}"


class Checked(_Entry, frozen=True, tag="checked"):
    """The digest that the state had at a position."""

    position: int
    digest: str

    @property
    def key(self) -> str:
        """A position is checked once."""
        return f"checked:{self.position}"


Entry: TypeAlias = (
    Configured
    | Ranked
    | Observed
    | Judged
    | Closed
    | ModelAdded
    | Promoted
    | RolledBack
    | ExperimentStarted
    | ExperimentEnded
    | Checked
)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Entry)


def encode(entry: Entry) -> bytes:
    """Return an entry's bytes."""
    return _encoder.encode(entry)


def decode(body: bytes) -> Entry:
    """Return the entry of these bytes.

    >>> decode(encode(Closed("r1")))
    Closed(ranking_id='r1')
    """
    try:
        entry: Entry = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"these bytes are no entry of a journal: {error}") from None
    return entry


def packed(X: NDArray[np.float32]) -> tuple[bytes, bool]:
    """Return features as bytes, and whether they are compressed."""
    blob = np.ascontiguousarray(X, "<f4").tobytes()
    if len(blob) < COMPRESS_FROM:
        return blob, False
    return zstandard.ZstdCompressor(level=1).compress(blob), True


def digest_of(*parts: Any) -> bytes:
    """Return 16 bytes that depend on every bit of these parts."""
    found = blake2b(digest_size=16)
    for part in parts:
        found.update(part)
    return found.digest()
