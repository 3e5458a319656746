"""Simulated users of the literature, whose clicks depend on the grades of documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankloop.clicks.models.base import as_chances
from rankloop.clicks.models.behaviour import Chain, Independent
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.models.behaviour import Behaviour

CASCADE_CLICKS = (0.05, 0.3, 0.5, 0.7, 0.95)
"""Probabilities of a click for grades 0 to 4 of the cascade user of Bruch (2021), without noise."""

_USERS = {  # name: number of grades: (clicks, stops)
    "perfect": {
        2: ((0.0, 1.0), (0.0, 0.0)),
        3: ((0.0, 0.5, 1.0), (0.0,) * 3),
        5: ((0.0, 0.2, 0.4, 0.8, 1.0), (0.0,) * 5),
    },
    "navigational": {
        2: ((0.05, 0.95), (0.2, 0.9)),
        3: ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        5: ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    },
    "informational": {
        2: ((0.4, 0.9), (0.1, 0.5)),
        3: ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        5: ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    },
    "almost-random": {
        2: ((0.4, 0.6), (0.5,) * 2),
        3: ((0.4, 0.5, 0.6), (0.5,) * 3),
        5: ((0.4, 0.45, 0.5, 0.55, 0.6), (0.5,) * 5),
    },
}
USERS = tuple(_USERS)
"""The names that :func:`make_user` knows."""


class SimulatedUser(ABC):
    """A user whose clicks depend on grades."""

    @abstractmethod
    def behaviour(self, grades: ArrayLike, offsets: NDArray[np.int64] | None = None) -> Behaviour:
        """Return what this user does with lists of documents of these grades."""

    def sample(
        self,
        rng: np.random.Generator,
        grades: ArrayLike,
        offsets: NDArray[np.int64] | None = None,
    ) -> NDArray[np.bool_]:
        """Draw clicks.

        Parameters
        ----------
        rng : where the draws come from
        grades : of the documents in the order shown, whole numbers; below 0 counts as 0
        offsets : where each list starts; None: one list
        """
        return self.behaviour(grades, offsets).sample(rng)

    def probabilities(
        self, grades: ArrayLike, offsets: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return the probability of a click on each document."""
        return self.behaviour(grades, offsets).probabilities()


@dataclass(frozen=True)
class GradedUser(SimulatedUser):
    """A user who reads from the top, and clicks and stops by a document's grade.

    Papers write that the user may stop after a click. The code behind many of them (Lerot, and
    that of Oosterhuis and de Rijke) lets the user stop after any document, clicked or not, and
    published numbers often come from that code.

    Parameters
    ----------
    clicks : the chance of a click by grade, each from 0 to 1
    stops : the chance to stop by grade, each from 0 to 1
    stops_after : `click`, or `document` if the user may stop after any document

    Examples
    --------
    >>> user = GradedUser(clicks=(0.5, 1.0), stops=(0.0, 1.0))
    >>> user.probabilities([0, 1, 1]).tolist()  # the second always gets a click and is the last
    [0.5, 1.0, 0.0]
    >>> user.sample(np.random.default_rng(0), [0, 1, 1]).tolist()
    [False, True, False]

    References
    ----------
    Guo, Liu and Wang, Efficient multiple-click models in web search (2009), of which it is a
    case; Hofmann, Whiteson and de Rijke, Balancing exploration and exploitation in listwise and
    pairwise online learning to rank (2013), for the probabilities.
    """

    clicks: tuple[float, ...]
    stops: tuple[float, ...]
    stops_after: Literal["click", "document"] = "click"

    def __post_init__(self) -> None:
        as_chances(self.clicks, "clicks")
        as_chances(self.stops, "stops")
        if len(self.clicks) != len(self.stops):
            raise DataError(
                f"there are {len(self.clicks)} probabilities of a click and "
                f"{len(self.stops)} of stopping; give one of each for every grade"
            )
        if self.stops_after not in ("click", "document"):
            raise DataError(
                f"stops_after must be 'click' or 'document'; found {self.stops_after!r}"
            )

    def behaviour(self, grades: ArrayLike, offsets: NDArray[np.int64] | None = None) -> Chain:
        """Return what this user does with lists of documents of these grades."""
        levels = grade_levels(grades, len(self.clicks))
        go_on = 1 - np.array(self.stops)[levels]
        after_skip = np.ones(len(levels)) if self.stops_after == "click" else go_on
        starts = np.array([0, len(levels)]) if offsets is None else offsets
        return Chain(starts, np.array(self.clicks)[levels], after_skip, go_on)


@dataclass(frozen=True)
class PositionUser(SimulatedUser):
    """A user who sees each position with some probability, and clicks by the grade of what is seen.

    Parameters
    ----------
    clicks : the chance of a click by grade, each from 0 to 1
    examination : the chance that each position is seen; the last one holds for all further ones

    Examples
    --------
    >>> PositionUser(clicks=(0.1, 1.0), examination=(1.0, 0.5)).probabilities([1, 1, 0]).tolist()
    [1.0, 0.5, 0.05]

    References
    ----------
    Joachims, Swaminathan and Schnabel, Unbiased learning-to-rank with biased feedback (2017).
    """

    clicks: tuple[float, ...]
    examination: tuple[float, ...]

    def __post_init__(self) -> None:
        as_chances(self.clicks, "clicks")
        as_chances(self.examination, "examination")

    def behaviour(self, grades: ArrayLike, offsets: NDArray[np.int64] | None = None) -> Independent:
        """Return what this user does with lists of documents of these grades."""
        levels = grade_levels(grades, len(self.clicks))
        starts = np.array([0, len(levels)]) if offsets is None else offsets
        place = np.arange(len(levels)) - np.repeat(starts[:-1], np.diff(starts))
        seen = np.array(self.examination)[np.minimum(place, len(self.examination) - 1)]
        return Independent(np.array(self.clicks)[levels] * seen)


def make_user(
    name: str, grades: int = 3, stops_after: Literal["click", "document"] = "click"
) -> GradedUser:
    """Return a simulated user of the literature by name.

    `perfect` clicks what is relevant and reads everything; `navigational` looks for one good
    document and stops there; `informational` clicks a lot; for `almost-random`, grades make little
    difference.

    Parameters
    ----------
    name : `perfect`, `navigational`, `informational` or `almost-random`
    grades : how many grades there are: 2, 3 or 5
    stops_after : when the user may stop; see :class:`GradedUser`

    Examples
    --------
    >>> make_user("informational").clicks
    (0.4, 0.7, 0.9)
    """
    if name not in _USERS:
        raise DataError(f"unknown user {name!r}; known: {', '.join(USERS)}")
    if grades not in _USERS[name]:
        raise DataError(
            f"there are users for 2, 3 and 5 grades; found {grades}: use GradedUser for others"
        )
    return GradedUser(*_USERS[name][grades], stops_after=stops_after)


def user_for(grades: ArrayLike, name: str) -> SimulatedUser:
    """Return a user by name for data with these grades.

    Parameters
    ----------
    grades : of the data; users of the literature have 2, 3 or 5 grades; the smallest sufficient
        number is used
    name : a name in :data:`USERS`, who may stop after a click, or after any document if
        `:document` follows; `cascade` or `ultra` (:func:`cascade_user`, :func:`ultra_user`)

    Examples
    --------
    >>> user_for([0, 1, 1, 0], "navigational").clicks
    (0.05, 0.95)
    >>> user_for([0, 1, 2, 0], "informational:document").stops_after
    'document'
    """
    if name in _OTHERS:
        return _OTHERS[name]()
    known, colon, stops_after = name.partition(":")
    if known not in _USERS or (colon and stops_after not in ("click", "document")):
        raise DataError(
            f"unknown user {name!r}; known: {', '.join((*USERS, *_OTHERS))}; one of the first four "
            "may be followed by :document, to stop after any document rather than after a click"
        )
    top = float(np.max(grades, initial=0))
    for count in (2, 3, 5):
        if top < count:
            return make_user(known, count, "document" if stops_after == "document" else "click")
    raise DataError(
        f"grades go up to {top:g}, but there are users for 2, 3 and 5 grades; use GradedUser for "
        "others"
    )


def cascade_user(noise: float = 0.0) -> GradedUser:
    """Return the user of Bruch's simulated clicks: five grades, and a click is the last.

    Parameters
    ----------
    noise : added to the chance of a click on grade 0, from 0 to .95

    Examples
    --------
    >>> cascade_user(noise=0.25).clicks
    (0.3, 0.3, 0.5, 0.7, 0.95)

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank (2021): appendix E.
    """
    first, *others = CASCADE_CLICKS
    if not 0 <= noise <= 1 - first:
        raise DataError(f"noise must be from 0 to {1 - first:g}; found {noise!r}")
    return GradedUser((first + noise, *others), (1.0,) * 5)


def ultra_user() -> PositionUser:
    """Return the user of the ULTRA toolbox: five grades, examination by position.

    >>> ultra_user().examination[:3]
    (0.68, 0.61, 0.48)
    """
    return PositionUser(
        (0.1, 0.16, 0.28, 0.52, 1.0),
        (0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06),
    )


_OTHERS: dict[str, Callable[[], SimulatedUser]] = {"cascade": cascade_user, "ultra": ultra_user}


def grade_levels(grades: ArrayLike, levels: int) -> NDArray[np.int64]:
    """Return whole grades as indices; raise if a grade has no probability."""
    values = np.asarray(grades, np.float64)
    judged = np.maximum(values, 0)
    if (judged != np.floor(judged)).any():
        bad = judged[judged != np.floor(judged)][0]
        raise DataError(
            f"the grade {bad:g} is not a whole number; users have probabilities for "
            "whole grades only"
        )
    if judged.max(initial=0) >= levels:
        raise DataError(
            f"grades go up to {judged.max():g}, but there are probabilities only for 0 to "
            f"{levels - 1}: give one for each grade"
        )
    return judged.astype(np.int64)
