"""Rankers that started at different times, while they learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.ensembles import histories
from rankloop.rankers.ensembles.experts import Experts
from rankloop.rankers.ensembles.weighing import are_logits, weigh
from rankloop.rankers.online.base import Queries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankloop.rankers.base import Rows, Scores
    from rankloop.rankers.ensembles.noticing import Memory
    from rankloop.rankers.ensembles.shared_maps import SharedMaps
    from rankloop.rankers.online.base import OnlineRanker

NEW_SHARE, START = 0.005, 0.05
"""The shares of all weight that an expert gets when it starts, and one that forgets."""


@dataclass
class Cohort:
    """Members, which experts they are, and what was noticed; changed while they learn.

    The members are copies that nobody else uses.
    """

    members: list[OnlineRanker]
    experts: Experts
    memory: Memory

    def start_experts(self, now: int, make: Callable[[], OnlineRanker]) -> None:
        """Start the experts that are due now, and stop one where there are too many."""
        if not self.experts.forget and can_forget(make()):
            for keep in histories.KEEPS:
                self._add(now, keep, START, make())
        if now > self.experts.births[0]:
            self._add(now, 1.0, NEW_SHARE, make())
        crowded = self.experts.crowded(now)
        if crowded is not None:
            before = self.experts.memory(self.experts.beliefs, now)
            self.experts, member = self.experts.without(crowded)
            del self.members[member]
            after = self.experts.memory(self.experts.beliefs, now)
            self.memory = self.memory.without(before, after)

    def _add(self, now: int, keep: float, share: float, member: OnlineRanker) -> None:
        self.experts = self.experts.add(now, keep, share)
        self.members.append(member)

    def learn(self, queries: Queries, part: tuple[int, int], maps: SharedMaps, now: int) -> Scores:
        """Learn some of the queries, the first of which is query `now`; return their scores before.

        No expert starts or stops between them.
        """
        first, end = part
        own, low = queries.between(first, end), int(queries.offsets[first])
        before = np.empty((len(self.members), len(own.y)), np.float32)
        every = histories.FORGET_EVERY if self.experts.forget else histories.EVERY
        for a, b in histories.steps(now, own.n, every):
            if (now + a) % every == 0:
                self._forget(every)
            rows = slice(*own.offsets[[a, b]].tolist())
            some = own.between(a, b)
            before[:, rows] = maps.learn(self.members, some, low + rows.start, first + a)
        return self._weigh(own, before, now)

    def _forget(self, queries: int) -> None:
        """Let those that forget keep what they would after so many queries."""
        for member, keep in zip(self.members, self.experts.member_keeps(), strict=True):
            if keep < 1 and member.n_queries_seen_:
                member._discount_past(keep**queries)

    def _weigh(self, queries: Queries, before: Rows, now: int) -> Scores:
        """Rank by all together, and follow what each lost."""
        logits = are_logits(self.members[0])
        mixed, self.experts, history = weigh(self.experts, queries, before, logits)
        for query, beliefs in enumerate(history, start=now):
            memory = self.experts.memory(beliefs, query + 1)
            self.memory = self.memory.after(memory, query)
        return mixed

    def lasting(self, birth: int) -> list[OnlineRanker]:
        """Return the members of the expert that started then and keeps everything, if any."""
        return [self.members[k] for k in self.experts.lasting(birth)]


def merge(cohorts: Sequence[Cohort], base: Cohort) -> Cohort:
    """Return one with the experts that all have, each merged; nothing was noticed since `base`.

    base : that from which all of them continued
    """
    experts, sides = cohorts[0].experts, [*cohorts, base]
    births = [int(experts.births[k]) for k in (0, *experts.later)]
    births = [birth for birth in births if all(side.lasting(birth) for side in sides)]
    members: list[OnlineRanker] = []
    merged = Experts.first(len(base.lasting(births[0])), births[0])
    for birth in births:
        if birth > births[0]:
            merged = merged.add(birth, 1.0, NEW_SHARE)
        for *own, start in zip(*(side.lasting(birth) for side in sides), strict=True):
            member = own[0].copy()
            member._merge_copies(own, start)
            members.append(member)
    return Cohort(members, merged, replace(base.memory, level=0.0, low=0))


def can_forget(ranker: OnlineRanker) -> bool:
    """Whether a new ranker can forget: a copy that learns from two made-up documents tries."""
    made_up, width = ranker.copy(), ranker.n_features_in_
    rows = np.zeros((2, width), np.float32)
    rows[1] = 1
    made_up._check_and_learn(Queries(rows, np.array([0.0, 1.0]), np.array([0, 2])))
    try:
        made_up._discount_past(0.5)
    except DataError:
        return False
    return True
