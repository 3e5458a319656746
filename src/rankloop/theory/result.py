"""A bound as a value: the number, its terms, and whether it applies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Assumption:
    """An assumption of a theorem, and whether it holds here."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Bound:
    """The right-hand side of a theorem.

    Attributes
    ----------
    name : the name of the theorem
    value : the bound; meaningful if :attr:`holds`
    terms : the terms whose sum (or, if its docstring says so, product) is the value
    quantities : the quantities from which the terms were computed
    assumptions : what the theorem assumes about the data and the ranker
    """

    name: str
    value: float
    terms: Mapping[str, float]
    quantities: Mapping[str, float]
    assumptions: tuple[Assumption, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether every assumption holds."""
        return all(assumption.holds for assumption in self.assumptions)

    @property
    def broken(self) -> tuple[str, ...]:
        """The assumptions that do not hold."""
        return tuple(assumption.text for assumption in self.assumptions if not assumption.holds)

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        return {
            "name": self.name,
            "value": self.value,
            "terms": dict(self.terms),
            "quantities": dict(self.quantities),
            "assumptions": {a.text: a.holds for a in self.assumptions},
        }
