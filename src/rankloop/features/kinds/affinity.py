"""`affinity`: what a user chose before, by category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.counters import Counter
from rankloop.features.kinds.base import CoreKind, Numbers, Step

if TYPE_CHECKING:
    from rankloop.features.options import Options


@dataclass(frozen=True)
class Affinity(CoreKind):
    """How much more a user likes the categories of an item than others.

        mean over the categories c of the item of (n_uc + prior r_u) / (m_uc + prior)  -  r_u,
        r_u = (n_u + prior r) / (m_u + prior)

    where n and m are the decayed sums of `to` and `of` for the user u in category c and in all, and
    r is the ratio over all users. With `by = "mean"`, they are the sum and the number of the values
    of `to`, such as ratings. As in `taste = { affinity = "item.genres", to = "click" }`. A user
    without events has 0. It is missing without a user or a category.

    affinity : the category, or list of categories
    to : the events that show a liking
    by : `rate`, of impressions, or `mean`, of values
    of : for rates, the events of m
    per : whose taste: `user`, `session` or the query
    half_life, window : how old events lose weight; without both, they never do
    prior : how many events the user's overall rate weighs

    Cost: one key a category and event, and one more.
    """

    by_category: Counter
    overall: Counter
    prior: float

    keyword: ClassVar[str] = "affinity"

    @classmethod
    def read(cls, name: str, options: Options) -> Affinity:
        """Read the category, the events, the key and the memory."""
        category = options.field(options.take("affinity"), ("category", "categories"), ("item",))
        event, by = options.event(options.take("to", "click")), options.choice("by", _BY)
        of = event if by == "mean" else options.event(options.take("of", "impression"))
        if by == "rate" and of == event:
            raise options.error(f"to and of are both {event!r}; give by = 'mean' for values")
        who = options.key(("user",))
        if not set(who) <= {"user", "session", "request.query"}:
            raise options.error(f"per must be user, session or request.query; found {list(who)}")
        half_life, window = options.memory()
        by_category, overall = (
            Counter(event, of, key, "value" if by == "mean" else "once", half_life, window)
            for key in ((*who, str(category)), who)
        )
        return cls(name, by_category, overall, options.number("prior", 5, 0.001))

    @property
    def counters(self) -> tuple[Counter, ...]:
        """The sums by category, and those of the user."""
        return (self.by_category, self.overall)

    def step(self, numbers: Numbers) -> Step:
        """Compare the rates of the categories with the user's own."""
        return Step(
            "affinity",
            "item",
            numbers.counter(self.by_category),
            numbers.counter(self.overall),
            prior=self.prior,
        )


_BY = ("rate", "mean")
