"""What users do with given pages, which click models and simulated users have in common.

A behaviour has three methods: the probability of a click on each document, the same probability
once the clicks above the document are known, and a method that draws clicks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.data.validation import check_rng

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Behaviour(Protocol):
    """How users read and click the pages it was made for; all arrays have one value per row."""

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of a click on each document."""

    def conditional(self, clicks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the probability of a click on each document, given the clicks above it."""

    def sample(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw what one user clicks on each page."""


@dataclass(frozen=True, eq=False)
class Independent:
    """Each document is clicked with its own probability, independently of other clicks."""

    chances: NDArray[np.float64]

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of a click on each document."""
        return self.chances

    def conditional(self, clicks: NDArray[np.bool_]) -> NDArray[np.float64]:  # noqa: ARG002
        """Return the same, because clicks above have no effect."""
        return self.chances

    def sample(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw clicks."""
        check_rng(rng)
        return rng.random(len(self.chances)) < self.chances


@dataclass(frozen=True, eq=False)
class Chain:
    """Users read from the top; what they do with a document decides whether they see the next.

    An examined document is clicked with probability `attraction`. The user then reads on with
    probability `after_click` or `after_skip`. O(rows).
    """

    offsets: NDArray[np.int64]
    attraction: NDArray[np.float64]
    after_skip: NDArray[np.float64]
    after_click: NDArray[np.float64]

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of a click on each document."""
        return _core.chain_click_probabilities(
            self.attraction, self.after_skip, self.after_click, self.offsets, None, threads()
        )

    def conditional(self, clicks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the probability of a click on each document, given the clicks above it."""
        return _core.chain_click_probabilities(
            self.attraction,
            self.after_skip,
            self.after_click,
            self.offsets,
            clicks.view(np.uint8),
            threads(),
        )

    def page(self, rows: NDArray[np.int64]) -> Chain:
        """Return what users do with these documents on one page."""
        taken = (self.attraction[rows], self.after_skip[rows], self.after_click[rows])
        return Chain(np.array([0, len(rows)]), *taken)

    @property
    def is_certain(self) -> bool:
        """Whether only the clicks are random, and not whether users read on."""
        return all(((a == 0) | (a == 1)).all() for a in (self.after_skip, self.after_click))

    def sample(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw clicks: per document one draw for the click and, unless certain, one to read on."""
        check_rng(rng)
        n = len(self.attraction)
        clicks = rng.random(n)
        stops = None if self.is_certain else rng.random(n)
        return _core.chain_clicks(
            self.attraction, self.after_skip, self.after_click, self.offsets, clicks, stops
        ).view(bool)


@dataclass(frozen=True, eq=False)
class Browsing:
    """Users look at a document by its position and where they clicked last.

    `examination[k - 1, j]` is the probability that position k is examined if the last click was at
    j, where j = 0 means no click; later positions share the last row. O(rows x page length) for
    `probabilities`, O(rows) for the others.
    """

    offsets: NDArray[np.int64]
    attraction: NDArray[np.float64]
    positions: NDArray[np.int32]
    examination: NDArray[np.float64]

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of a click on each document."""
        return self._chances(None)

    def conditional(self, clicks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the probability of a click on each document, given the clicks above it."""
        return self._chances(clicks.view(np.uint8))

    def sample(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw clicks."""
        check_rng(rng)
        return _core.browsing_clicks(
            self.attraction,
            self.positions,
            self.examination.ravel(),
            len(self.examination),
            self.offsets,
            rng.random(len(self.attraction)),
        ).view(bool)

    def _chances(self, clicks: NDArray[np.uint8] | None) -> NDArray[np.float64]:
        return _core.browsing_click_probabilities(
            self.attraction,
            self.positions,
            self.examination.ravel(),
            len(self.examination),
            self.offsets,
            clicks,
            threads(),
        )
