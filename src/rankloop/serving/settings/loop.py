"""Settings of one loop."""

from __future__ import annotations

import math
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from rankloop.exceptions import DataError, RankloopError
from rankloop.features.definitions import Definitions
from rankloop.feedback.grading import DEFAULT_RULES, MAX_GRADE, GradingRule
from rankloop.rankers.registry import make_online_ranker
from rankloop.rankers.wrappers.described import Described
from rankloop.serving.settings.sections import Count, Seconds, Section

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.features.columns import Features
    from rankloop.rankers.online.base import OnlineRanker


class RuleSettings(Section, frozen=True):
    """The grade of one type of feedback; see :class:`rankloop.feedback.grading.GradingRule`."""

    gain: float
    at_least: float | None = None
    by_value: bool = False
    steps: tuple[float, ...] = ()

    def rule(self) -> GradingRule:
        """Return it as a rule for grading."""
        lowest = -math.inf if self.at_least is None else self.at_least
        return GradingRule(self.gain, lowest, self.by_value, self.steps)


def _default_feedback() -> dict[str, RuleSettings | float]:
    return {name: rule.gain for name, rule in DEFAULT_RULES.items()}


class LoopSettings(Section, frozen=True, dict=True):
    """One ranking task.

    Learning, all of it journaled:

    features : the numbers that callers send with each item: their names, or how many there are
        (then they are called 1, 2, ...); or a definition by name: of what the loop computes itself,
        and of the texts, dates and numbers that callers send
    fields : types of the fields of items, users and requests, from which features are computed
    defaults : values of features that a request leaves out, by name
    rankers : text such as `auto` or `solar-ii:gamma=10`; the first is the champion at the start
    feedback : the grade of each type, a gain or a table (gain, at_least, by_value,
        steps)
    learn_from : how feedback becomes training data: `grades` (down to the item after the last one
        with feedback: who stopped there did not see the others), `shown` (all that was shown is
        graded, for pages that people see at a glance), `pairs`, `ips` (as `shown`, with more weight
        at places that are seldom looked at), or `pdgd` (pairs, weighted by how likely a
        `plackett-luce` ranking was to show them in the opposite order; nothing is learnt from other
        rankings)
    examination : for `ips`, how likely each place is to be seen; the last value also holds for all
        later places
    max_open, max_early, max_events, max_closed : limits of what is kept: open rankings,
        feedback before its ranking, events of one ranking, ids of closed rankings
    max_keys : keys of each counter of features; the one that changed least recently goes first
    max_catalogue : items, and users, whose fields are kept; further ones are refused
    late : whether feedback after the window lets the rankers learn the ranking again, with all
        feedback on it so far
    check_every : number of entries between two digests of the state in the journal

    Serving:

    journal : a file, or postgresql://user@host/database
    model : a model file that ranks from the start; the rankers learn beside it
    table : a CSV or Parquet file of items, for UBI queries: a column `id`, and one per feature
    window : seconds to wait for feedback before learning from a ranking
    unknown_items : whether computed features allow items without fields, which then have missing
        values, or refuse them
    policy : `best-first`, `plackett-luce` (explores) or `apprentice` (shows the caller's order)
    temperature : of `plackett-luce`, above 0; lower values explore less
    explore_top : number of places that `plackett-luce` draws; the others are best first
    snapshot_every : number of entries between two saved states
    alpha : the chance that any experiment of this loop ever promotes a worse model
    """

    features: tuple[str, ...] | Count | dict[str, dict[str, Any]]
    fields: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    defaults: dict[str, float] = msgspec.field(default_factory=dict)
    rankers: tuple[str, ...] = ("auto",)
    feedback: dict[str, RuleSettings | float] = msgspec.field(default_factory=_default_feedback)
    learn_from: Literal["grades", "shown", "pairs", "ips", "pdgd"] = "grades"
    examination: tuple[float, ...] = ()
    max_open: Count = 1_000_000
    max_early: Annotated[int, Meta(ge=0)] = 10_000
    max_events: Count = 1_000
    max_closed: Count = 100_000
    max_keys: Count = 1_000_000
    max_catalogue: Count = 10_000_000
    late: bool = False
    check_every: Count = 10_000

    journal: str = ""
    model: str = ""
    table: str = ""
    window: Seconds = 1800.0
    unknown_items: Literal["allow", "refuse"] = "allow"
    policy: Literal["best-first", "plackett-luce", "apprentice"] = "best-first"
    temperature: float = 1.0
    explore_top: Count = 10
    snapshot_every: Count = 50_000
    alpha: float = 0.05

    def to_bytes(self) -> bytes:
        """Return the settings that the journal keeps: all except locations of files."""
        places = {"journal": "", "model": "", "table": ""}
        return msgspec.json.encode(msgspec.structs.replace(self, **places))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of a ranking's matrix."""
        if isinstance(self.features, int):
            return _numbers(self.features)
        return self.features if isinstance(self.features, tuple) else self.definitions.names

    @property
    def computes(self) -> bool:
        """Whether the loop computes features itself, from fields and past events."""
        return isinstance(self.features, dict)

    @cached_property
    def columns(self) -> Features | None:
        """What the columns are; None if all are numbers that callers send."""
        return self.definitions.columns if self.computes else None

    @cached_property
    def definitions(self) -> Definitions:
        """What the features are; those that callers send are given numbers."""
        if isinstance(self.features, dict):
            return Definitions.read(self.fields, self.features)
        return Definitions.of_given(self.names, self.defaults)

    @property
    def feature_rules(self) -> tuple[object, ...]:
        """All that computed features depend on; if it changes, they are computed anew."""
        return (self.definitions, self.examination, self.max_catalogue, self.max_keys)

    @cached_property
    def rules(self) -> dict[str, GradingRule]:
        """The grade of each type of feedback, as rules for grading."""
        return rules_of(self.feedback)

    def change(self, known: LoopSettings | None, where: str) -> bool:
        """Return whether a journal has other settings; raise if it has other features."""
        if known is None:
            return True
        if known.names != self.names and not (known.computes and self.computes):
            raise DataError(
                f"{where}: its journal has {len(known.names)} features "
                f"({', '.join(known.names[:5])}, ...), but the settings have {len(self.names)} "
                f"({', '.join(self.names[:5])}, ...); the features that callers send cannot be "
                "changed: use another loop name"
            )
        return known.to_bytes() != self.to_bytes()

    def make_rankers(self) -> dict[str, OnlineRanker]:
        """Return rankers that have learnt nothing yet, by their texts."""
        made = {text: make_online_ranker(text) for text in self.rankers}
        if self.columns is None:
            return made
        described = {text: Described(made[text], description=self.columns) for text in made}
        return cast("dict[str, OnlineRanker]", described)  # online, because their rankers are

    def check(self) -> None:
        """Raise if a value cannot be used."""
        names = self.names
        if not names or len(set(names)) < len(names):
            raise DataError(
                f"features: found {list(names)[:10]}, expected at least one name, all different"
            )
        unknown = self.defaults.keys() - set(names)
        if unknown:
            known = f"{', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
            raise DataError(
                f"defaults: {min(unknown)!r} is not a feature; expected one of: {known}"
            )
        for name, value in self.defaults.items():
            if not math.isfinite(value):
                raise DataError(f"defaults.{name}: found {value}, expected a finite number")
        if not self.rankers or len(set(self.rankers)) < len(self.rankers):
            raise DataError(
                f"rankers: found {list(self.rankers)}, expected at least one, all different"
            )
        for text in self.rankers:
            try:
                make_online_ranker(text)
            except RankloopError as error:
                raise DataError(f"rankers: {error}") from None
        if self.learn_from == "ips" and not self.examination:
            raise DataError(
                "examination: found none, but learn_from = 'ips' needs one probability for each "
                "position, above 0 and at most 1"
            )
        if not all(0 < chance <= 1 for chance in self.examination):
            raise DataError(
                f"examination: found {list(self.examination)}, expected one probability for "
                "each position, above 0 and at most 1"
            )
        drawn = self.policy == "plackett-luce" and self.temperature == 1
        if self.learn_from == "pdgd" and not drawn:
            raise DataError(
                f"learn_from: found 'pdgd' with policy = {self.policy!r} and temperature = "
                f"{self.temperature:g}, expected policy = 'plackett-luce' and temperature = 1, "
                "because it learns only from rankings that were drawn at random by their scores"
            )
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise DataError(f"temperature: found {self.temperature}, expected a number above 0")
        for name, rule in self.rules.items():
            if not abs(rule.gain) <= MAX_GRADE:
                raise DataError(
                    f"feedback.{name}: found a gain of {rule.gain:g}, expected one from "
                    f"{-MAX_GRADE:g} to {MAX_GRADE:g}, because relevance grows as 2^gain"
                )
            if math.isnan(rule.at_least):
                raise DataError(f"feedback.{name}.at_least: found nan, expected a number")
        if not 0 < self.alpha < 1:
            raise DataError(f"alpha: found {self.alpha}, expected a number between 0 and 1")


def read_journaled(text: bytes, known: LoopSettings | None) -> LoopSettings:
    """Return the settings of an entry; raise if they cannot follow the known ones."""
    settings = msgspec.json.decode(text, type=LoopSettings)
    same = known is None or known.names == settings.names
    if known is not None and not same and not (known.computes and settings.computes):
        raise DataError("features that callers send cannot be changed; use another loop name")
    settings.make_rankers()
    return settings


def fault_of_value(rules: Mapping[str, GradingRule], kind: str, value: float) -> str:
    """Return what is wrong with the value of an event; empty if nothing is."""
    rule = rules.get(kind)
    if rule is None or not (rule.by_value or rule.steps):  # the gain itself is checked
        return ""
    if abs(rule.worth(value)) <= MAX_GRADE:
        return ""
    return (
        f"value: found {value:g}, which gives the grade {rule.worth(value):g} ({rule.gain:g} times "
        f"the value), expected a grade from {-MAX_GRADE:g} to {MAX_GRADE:g}; send a smaller value, "
        f"or set a smaller gain of {kind!r:.80}"
    )


def rules_of(feedback: Mapping[str, RuleSettings | float]) -> dict[str, GradingRule]:
    """Return the grade of each type of feedback, as rules for grading."""
    return {
        name: rule.rule() if isinstance(rule, RuleSettings) else GradingRule(float(rule))
        for name, rule in feedback.items()
    }


@cache
def _numbers(n: int) -> tuple[str, ...]:
    """Return the names of features that are only counted; cached, as every request needs them."""
    return tuple(str(number) for number in range(1, n + 1))
