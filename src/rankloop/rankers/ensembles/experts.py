"""Who the experts of an adaptive ranker are, how old they are, and how much they count."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import ModelError
from rankloop.rankers.ensembles import histories
from rankloop.rankers.forms import Array

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Experts:
    """The experts, the first one first; a value that never changes.

    The first expert has one ranker or several (its members), all others have one.

    Attributes
    ----------
    seats : (S, 2) pairs of an expert and one of its members, by number
    births : (K,) after how many queries each expert started
    keeps : (K,) the share of what it knows that each keeps after a query
    weights : (K,) by which they rank together
    beliefs : (K,) the same for losses that see nothing but the order, by which changes are noticed
    """

    seats: Counts
    births: Counts
    keeps: Floats
    weights: Floats
    beliefs: Floats

    @classmethod
    def first(cls, members: int, now: int = 0) -> Self:
        """Return the first expert alone, with its members."""
        seats = np.array([[0, k] for k in range(members)], np.int64)
        return cls(seats, np.array([now], np.int64), np.ones(1), np.ones(1), np.ones(1))

    def __len__(self) -> int:
        return len(self.births)

    @property
    def members(self) -> int:
        """The number of members."""
        return int(self.seats[:, 1].max()) + 1

    @property
    def sizes(self) -> Counts:
        """The number of members of each expert."""
        return np.bincount(self.seats[:, 0], minlength=len(self))

    @property
    def forget(self) -> bool:
        """Whether some of them forget."""
        return bool((self.keeps < 1).any())

    @property
    def later(self) -> Counts:
        """The numbers of those that started later than the first and keep everything, by age."""
        return np.flatnonzero((self.keeps == 1) & (self.births > self.births[0]))

    @property
    def leader(self) -> int | None:
        """The member that is trusted most; None if that has learnt from all queries."""
        leader = int(np.argmax(self.beliefs))
        if self.keeps[leader] == 1 and self.births[leader] == self.births[0]:
            return None
        return int(self.seats[self.seats[:, 0] == leader, 1][0])

    def lasting(self, birth: int) -> list[int]:
        """Return the members of the expert that started then and keeps everything, if any."""
        numbers = np.flatnonzero((self.births == birth) & (self.keeps == 1))[:1]
        return [member for expert, member in self.seats.tolist() if expert in numbers]

    def member_keeps(self) -> list[float]:
        """Return the share of what it knows that each member keeps after a query."""
        keeps = self.keeps.tolist()
        return [keeps[expert] for expert, _ in self.seats.tolist()]

    def member_weights(self) -> Floats:
        """Return the weights of the members; they sum to 1."""
        total, sizes = np.zeros(self.members), self.sizes
        for expert, member in self.seats.tolist():
            total[member] += self.weights[expert] / sizes[expert]
        return total

    def memory(self, beliefs: Floats, now: int) -> float:
        """Return the mean number of queries that they rest on, weighted."""
        total = 0.0
        for belief, birth, keep in zip(
            beliefs.tolist(), self.births.tolist(), self.keeps.tolist(), strict=True
        ):
            age = float(now - birth)
            total += belief * (age if keep == 1 else min(age, 1 / (1 - keep)))
        return total

    def add(self, birth: int, keep: float, share: float) -> Self:
        """Return these and one more with a new member, which gets a share of all weight."""
        return replace(
            self,
            seats=np.vstack([self.seats, [[len(self), self.members]]]),
            births=np.append(self.births, birth),
            keeps=np.append(self.keeps, keep),
            weights=np.append(self.weights * (1 - share), share),
            beliefs=np.append(self.beliefs * (1 - share), share),
        )

    def crowded(self, now: int) -> int | None:
        """Return the expert that has to stop, if there are too many of those that started later."""
        if len(self.later) <= histories.MOST:
            return None
        lasting = [0, *self.later.tolist()]
        return int(lasting[histories.crowded(self.births[lasting].tolist(), now)])

    def without(self, expert: int) -> tuple[Self, int]:
        """Return these without one, whose weight goes to all others, and its member."""
        ((_, member),) = self.seats[self.seats[:, 0] == expert].tolist()
        left = self.seats[self.seats[:, 0] != expert]
        known: dict[str, Any] = {
            "seats": left - (left > [expert, member]),
            "births": np.delete(self.births, expert),
            "keeps": np.delete(self.keeps, expert),
        }
        for name in ("weights", "beliefs"):
            known[name] = normalised(np.delete(getattr(self, name), expert))
        return type(self)(**known), int(member)

    def to_dict(self) -> dict[str, Any]:
        """Return the arrays by name, as a ranker stores them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, arrays: Mapping[str, Any]) -> Self:
        """Return the experts of these arrays; the opposite of :meth:`to_dict`."""
        return cls(**arrays)

    @classmethod
    def check(cls, arrays: Mapping[str, Any], members: int) -> None:
        """Raise unless these are the arrays of experts with so many members."""
        known = {field.name for field in fields(cls)}
        if arrays.keys() != known:
            raise ModelError(f"experts_ must have the parts {sorted(known)}")
        count = len(arrays["births"])
        Array((None, 2), np.int64, low=0).check("seats", arrays["seats"])
        Array((count,), np.int64, low=0).check("births", arrays["births"])
        for name in ("keeps", "weights", "beliefs"):
            Array((count,), low=0, high=1).check(name, arrays[name])
        seated = [sorted(set(column)) for column in arrays["seats"].T.tolist()]
        weighed = all(arrays[name].any() for name in ("weights", "beliefs"))
        if seated != [list(range(count)), list(range(members))] or not weighed:
            raise ModelError("experts_ do not fit members_: each must have a seat and a weight")


def normalised(weights: Floats) -> Floats:
    """Return weights that sum to 1, added up in order, which is the same everywhere."""
    total = 0.0
    for weight in weights.tolist():
        total += weight
    return weights / total
