"""Linear batch rankers on a cluster: the exact optimum, by sums over the parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankloop.data.mapped_parts import borrow
from rankloop.distributed.calling import gather_results, submit
from rankloop.distributed.summary import check_summaries, summarise_part
from rankloop.rankers.batch.loss_sum import add_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Future

    from rankloop.data.dataset import QueryDataset
    from rankloop.distributed.parts import Parts
    from rankloop.distributed.progress import OnProgress
    from rankloop.distributed.summary import PartSummary
    from rankloop.losses.base import Floats
    from rankloop.rankers.batch.linear import ConvexRanker
    from rankloop.rankers.batch.loss_sum import PartLoss, Value
    from rankloop.rankers.rounds import Round


@dataclass(frozen=True)
class HeldLoss:
    """The loss of a part, on the worker that holds it."""

    data: QueryDataset
    loss: PartLoss
    summary: PartSummary

    def __sizeof__(self) -> int:
        return self.loss.__sizeof__()


class PartwiseLoss(ABC):
    """A loss that is computed in parts, and added up in their order."""

    @abstractmethod
    def _all(self, method: str, *given: Floats) -> list[Any]:
        """Call a method of the loss of each part, and return the results in order."""

    def at(self, w: Floats) -> Value:
        """Return the value and the gradient."""
        values: list[Value] = self._all("at", w)
        return add_up(values)

    def product(self, w: Floats, v: Floats) -> Floats:
        """Return the Hessian at w times v."""
        return add_up(self._all("product", w, v))

    def spread(self, w: Floats) -> Floats:
        """Return the sums from which a preconditioner is computed."""
        return add_up(self._all("spread", w))


class ClusterLoss(PartwiseLoss):
    """The loss of parts on a cluster."""

    def __init__(self, client: Any, held: list[Future[HeldLoss]], names: list[str]) -> None:
        self._client, self._held, self._names = client, held, names

    def _all(self, method: str, *given: Floats) -> list[Any]:
        futures = [submit(self._client, _call, part, method, given) for part in self._held]
        return gather_results(self._client, futures, self._names)


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
    held = parts.submit(_make_held_loss, ranker)
    futures = [submit(parts.client, _summary, part) for part in held]
    summaries = gather_results(parts.client, futures, parts.names, "loading", on_progress)
    like, n_queries = check_summaries(summaries, parts.names)
    total = ClusterLoss(parts.client, held, parts.names)
    ranker.fit_sum(total, like, n_queries=n_queries, valid=valid, on_round=on_round)


def _make_held_loss(data: QueryDataset, ranker: ConvexRanker) -> HeldLoss:
    ranker._check_part(data)
    return HeldLoss(data, ranker.part_loss(data), summarise_part(data))


def _summary(held: HeldLoss) -> PartSummary:
    return held.summary


def _call(held: HeldLoss, method: str, given: tuple[Floats, ...]) -> Any:
    with borrow(held.data):
        return getattr(held.loss, method)(*given)
