"""The interface of interleaving: a list of several rankings, and preferences from its clicks."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rankloop.data.validation import check_counts, check_rng
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Ranking: TypeAlias = Sequence[Hashable]
"""Documents of one ranker, from the top; ids of any kind, none twice."""


class Interleaved(ABC):
    """A list that was shown, with everything needed to tell which ranker its clicks prefer.

    documents : from the top
    """

    documents: tuple[Hashable, ...]

    @abstractmethod
    def preferences(self, clicks: ArrayLike) -> NDArray[np.float64]:
        """Return how much clicks prefer ranker i to ranker j, in row i and column j.

        A value is above 0 if i wins, and 0 without a click; swapping i and j changes its sign. The
        mean over many lists has the sign of the difference between the rankers.
        """


class Interleaver(ABC):
    """A way to interleave, without state: all randomness comes from the argument."""

    @abstractmethod
    def interleave(
        self, rankings: Sequence[Ranking], rng: np.random.Generator, k: int = 10
    ) -> Interleaved:
        """Make one list of at most k documents.

        Parameters
        ----------
        rankings : one per ranker, at least two; they need not contain the same documents, but must
            have the same length, or each at least k
        rng : random generator; :func:`make_rng` makes one from a ranking's id
        k : the length of the list; it is shorter if the rankings are. Rankings of different
            documents give a list that is as long as one of them
        """

    def bound(self, k: int, rankers: int = 2) -> float:  # noqa: ARG002 - of other methods
        """Return the largest size of a preference between two rankers on a list of k documents.

        A confidence sequence for values in [-1, 1] takes preferences divided by this bound.
        """
        return 1.0


@dataclass(frozen=True, eq=False)
class Credited(Interleaved):
    """A list whose clicked documents each give every ranker some credit.

    credit : (documents, rankers) the credit that a ranker gets for a click
    by_sign : whether only the winner of a list counts, and not by how much it won
    """

    documents: tuple[Hashable, ...]
    credit: NDArray[np.float64]
    by_sign: bool = True

    def preferences(self, clicks: ArrayLike) -> NDArray[np.float64]:
        """Return the sign, or the size, of the difference in credits."""
        earned = self.credits(clicks)
        gap = earned[:, None] - earned[None, :]
        return np.sign(gap) if self.by_sign else gap

    def credits(self, clicks: ArrayLike) -> NDArray[np.float64]:
        """Return the credit of each ranker."""
        return np.asarray(self.credit[as_clicked(clicks, self)].sum(axis=0))


def as_clicked(clicks: ArrayLike, shown: Interleaved) -> NDArray[np.bool_]:
    """Return clicks as booleans, one per shown document."""
    clicked = np.asarray(clicks, bool)
    if clicked.shape != (len(shown.documents),):
        raise DataError(
            f"clicks have shape {clicked.shape}; expected one for each of the "
            f"{len(shown.documents)} documents shown"
        )
    return clicked


def check_rankings(
    rankings: Sequence[Ranking], rng: np.random.Generator, k: int, most: int | None = None
) -> int:
    """Return the length of a list that prefers none of these rankings; raise if there is none.

    There must be two or more, at most `most`. If they have different documents, the list is no
    longer than each of them: one that runs out would get fewer documents into the list, and random
    clicks would then prefer the other.
    """
    check_rng(rng)
    check_counts(k=k)
    if len(rankings) < 2 or (most is not None and len(rankings) > most):
        wanted = "two rankings" if most == 2 else "at least two rankings"
        raise DataError(f"interleaving needs {wanted}; found {len(rankings)}")
    lengths = [len(ranking) for ranking in rankings]
    shortest, first = min(lengths), set(rankings[0])
    if shortest >= k or all(len(r) == len(first) and set(r) == first for r in rankings):
        return k
    if max(lengths) == shortest:
        return shortest
    way = f"show at most {shortest} (k={shortest})" if shortest else "leave the empty one out"
    raise DataError(
        f"the rankings have {', '.join(map(str, lengths))} documents, so on a list of {k} random "
        f"clicks would prefer the ranking that runs out last; {way}, or give rankings of the same "
        "length"
    )


def make_rng(ranking_id: str) -> np.random.Generator:
    """Return a generator that depends on a ranking's id alone, so that replay draws the same.

    >>> bool(make_rng("a1").integers(100) == make_rng("a1").integers(100))
    True
    """
    digest = hashlib.blake2b(ranking_id.encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
