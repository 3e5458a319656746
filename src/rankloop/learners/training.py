"""One way to train any learner: online or batch, from nothing or from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankloop.exceptions import DataError
from rankloop.learners.batch.base import BatchRanker
from rankloop.learners.online.base import OnlineRanker
from rankloop.learners.wrappers.mapped import Mapped
from rankloop.learners.wrappers.scaled import Scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Ranker
    from rankloop.learners.batch.base import Round


def new_learner(
    cls: type[Ranker], params: Mapping[str, Any], metric: str, scale: str | None = None
) -> Ranker:
    """Make a learner, with a scaler in front where asked for.

    A batch learner whose `metric` is not among `params` is given this one to stop early by.
    """
    chosen = dict(params)
    if issubclass(cls, BatchRanker) and "metric" in cls.parameters():
        chosen.setdefault("metric", metric)
    learner = cls(**chosen)
    if scale is None:
        return learner
    if isinstance(learner, OnlineRanker):
        return Mapped(learner, ["raw"], scale)
    return Scaled(learner, scale)


def trained(
    learner: Ranker,
    data: QueryDataset,
    valid: QueryDataset | None = None,
    on_round: Callable[[Round], None] | None = None,
) -> Ranker:
    """Fit a learner; a batch one stops early by the validation data."""
    if isinstance(learner, BatchRanker):
        learner.fit(data, valid=valid, on_round=on_round)
    else:
        learner.fit(data)
    return learner


def continued(
    model: Ranker,
    data: QueryDataset,
    hold: float = 1.0,
    valid: QueryDataset | None = None,
    on_round: Callable[[Round], None] | None = None,
) -> Ranker:
    """Go on from what was learnt: online by more queries, in batch from where it stopped.

    hold : how strongly an online learner holds to what it knows; batch learners know only 1
    """
    if isinstance(model, OnlineRanker):
        return model.loosen(hold).partial_fit(data)
    if hold != 1.0:
        raise DataError(
            f"hold is for online learners, but the model is a {type(model).__name__}; leave it out"
        )
    if not isinstance(model, BatchRanker):
        raise DataError(f"a {type(model).__name__} cannot go on; train a new one")
    before = model.warm_start
    model.warm_start = True
    try:
        return model.fit(data, valid=valid, on_round=on_round)
    finally:
        model.warm_start = before
