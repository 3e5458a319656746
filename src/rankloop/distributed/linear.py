"""Linear batch rankers on a cluster: the exact optimum, by sums over the parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankloop.data.mapped_parts import borrow
from rankloop.distributed.calling import gathered, submitted
from rankloop.distributed.summary import checked, summary_of
from rankloop.rankers.batch.loss_sum import added

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Future

    from rankloop.data.dataset import QueryDataset
    from rankloop.distributed.parts import Parts
    from rankloop.distributed.progress import OnProgress
    from rankloop.distributed.summary import Summary
    from rankloop.losses.base import Floats
    from rankloop.rankers.batch.linear import ConvexRanker
    from rankloop.rankers.batch.loss_sum import PartLoss, Value
    from rankloop.rankers.rounds import Round


@dataclass(frozen=True)
class HeldLoss:
    """The loss of a part, on the worker that holds it."""

    data: QueryDataset
    loss: PartLoss
    summary: Summary

    def __sizeof__(self) -> int:
        return self.loss.__sizeof__()


class ClusterLoss:
    """The sum of the losses of parts on a cluster, in the order of the parts."""

    def __init__(self, client: Any, held: list[Future[HeldLoss]], names: list[str]) -> None:
        self._client, self._held, self._names = client, held, names

    def at(self, w: Floats) -> Value:
        """Return the value and the gradient."""
        found: list[Value] = self._all("at", w)
        return added(found)

    def product(self, w: Floats, v: Floats) -> Floats:
        """Return the Hessian at w times v."""
        return added(self._all("product", w, v))

    def spread(self, w: Floats) -> Floats:
        """Return what a preconditioner is made of."""
        return added(self._all("spread", w))

    def _all(self, method: str, *given: Floats) -> list[Any]:
        futures = [submitted(self._client, _call, one, method, given) for one in self._held]
        return gathered(self._client, futures, self._names)


def fit_linear(
    ranker: ConvexRanker,
    parts: Parts,
    *,
    valid: QueryDataset | None = None,
    on_round: Callable[[Round], None] | None = None,
    on_progress: OnProgress | None = None,
) -> None:
    """Fit a linear batch ranker: the same optimum as on one machine.

    The bits of the result depend on the parts, not on the number of workers. Network: w or v to
    each part, and d numbers back, for each of about 30 passes; d^2 numbers back once.
    """
    held = parts.held(_held_loss, ranker)
    told = [submitted(parts.client, _summary, one) for one in held]
    summaries = gathered(parts.client, told, parts.names, "loading", on_progress)
    like, n_queries = checked(summaries, parts.names)
    total = ClusterLoss(parts.client, held, parts.names)
    ranker.fit_sum(total, like, n_queries=n_queries, valid=valid, on_round=on_round)


def _held_loss(data: QueryDataset, ranker: ConvexRanker) -> HeldLoss:
    ranker._check_part(data)
    return HeldLoss(data, ranker.part_loss(data), summary_of(data))


def _summary(held: HeldLoss) -> Summary:
    return held.summary


def _call(held: HeldLoss, method: str, given: tuple[Floats, ...]) -> Any:
    with borrow(held.data):
        return getattr(held.loss, method)(*given)
