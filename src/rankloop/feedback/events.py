"""Events about a ranking: feedback on one document, or grades for several documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Self

from rankloop.exceptions import DataError
from rankloop.feedback.fields import as_number, check_text, read_fields
from rankloop.feedback.ids import new_id


class _Event:
    """The base class of events: conversion to and from plain values."""

    def to_dict(self) -> dict[str, object]:
        """Return plain values that JSON can represent, without the fields that are None."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in plain.items()
            if value is not None
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote, and check it."""
        return cls(**read_fields(cls, plain))


@dataclass(frozen=True)
class Feedback(_Event):
    """What a user did with one document of a ranking.

    Attributes
    ----------
    ranking_id : the ranking that was shown
    item : the document's id; if the ranking has no document ids, its row number as text
    type : `click`, `purchase`, `skip` or any other type that has a rule
    value : the amount: for example seconds of reading, items bought or stars given
    timestamp : seconds since 1970, or None
    id : identifies the event, so that it counts only once even if it is sent several times

    Examples
    --------
    >>> click = Feedback("r1", "b", id="e1")
    >>> click.to_dict()
    {'ranking_id': 'r1', 'item': 'b', 'type': 'click', 'value': 1.0, 'id': 'e1'}
    >>> Feedback.from_dict(click.to_dict()) == click
    True
    """

    ranking_id: str
    item: str
    type: str = "click"
    value: float = 1.0
    timestamp: float | None = None
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        for name in ("ranking_id", "item", "type", "id"):
            check_text(name, getattr(self, name))
        as_number("value", self.value)


@dataclass(frozen=True)
class Judgement(_Event):
    """Grades for documents of a ranking; documents without a grade stay unjudged.

    Attributes
    ----------
    ranking_id : the ranking that was judged
    grades : a grade of at least 0 by document id; higher is better
    timestamp : seconds since 1970, or None
    id : identifies the event

    Examples
    --------
    >>> Judgement("r1", {"a": 0, "b": 2}, id="j1").to_dict()
    {'ranking_id': 'r1', 'grades': {'a': 0.0, 'b': 2.0}, 'id': 'j1'}
    """

    ranking_id: str
    grades: Mapping[str, float] = field(hash=False)
    timestamp: float | None = None
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        for name in ("ranking_id", "id"):
            check_text(name, getattr(self, name))
        if not isinstance(self.grades, Mapping) or not self.grades:
            raise DataError(
                "grades must be an object that gives each document id a grade; "
                f"found {self.grades!r:.80}"
            )
        grades = {}
        for item, grade in self.grades.items():
            check_text("a document id in grades", item)
            grades[item] = as_number(f"the grade of {item!r}", grade)
            if grades[item] < 0:
                raise DataError(f"the grade of {item!r} must be at least 0; found {grade}")
        object.__setattr__(self, "grades", MappingProxyType(grades))
