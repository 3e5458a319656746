"""Entries of actions, of operators and of the loop itself, and of checks.

`by` is the name of the token of the person who acted, and empty if the loop itself acted.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rankloop.serving.journal.base_entry import BaseEntry

_encode = msgspec.msgpack.Encoder().encode


class Configured(BaseEntry, frozen=True, tag="configured"):
    """The loop's settings from here on: features, rankers, grades of feedback."""

    settings: bytes
    engine: int


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
        return _encode((self.id, self.by))


class Checked(BaseEntry, frozen=True, tag="checked"):
    """The digests of the state at a position, and of the features that the loop computes."""

    position: int
    digest: str
    features: str = ""

    @property
    def key(self) -> str:
        """The position, which is checked once."""
        return f"checked:{self.position}"
