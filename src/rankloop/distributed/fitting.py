"""Fit a ranker on a cluster; linear rankers, trees and online rankers each have a method."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

from rankloop.distributed.linear import fit_linear
from rankloop.distributed.mixing import fit_online
from rankloop.distributed.parts import SAMPLE
from rankloop.exceptions import DataError
from rankloop.rankers.batch.linear import ConvexRanker
from rankloop.rankers.boosting.base import BoostedRanker
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.wrappers.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.data.dataset import QueryDataset
    from rankloop.distributed.parts import Parts
    from rankloop.distributed.progress import OnProgress
    from rankloop.rankers.base import Ranker
    from rankloop.rankers.rounds import Round

    _R = TypeVar("_R", bound=Ranker)


def fit(
    ranker: _R,
    parts: Parts,
    *,
    valid: QueryDataset | None = None,
    mix_every: int | None = None,
    machines: int | None = None,
    on_round: Callable[[Round], None] | None = None,
    on_progress: OnProgress | None = None,
) -> _R:
    """Return a fitted copy of a ranker; no part of the data comes to this process.

    - Linear batch rankers (`XENDCG`, `ListNet`, `RankSVM`, `RankNet`, `LossLinear`): the exact
      optimum, by sums over the parts in their order.
    - Boosted trees: LightGBM's data-parallel ranker, in one process per machine. The trees depend
      on the parts and on the number of machines.
    - Online rankers: iterative parameter mixing; see :mod:`rankloop.distributed.mixing`.
    - `Prepared` around one of these: the scaler is fitted to about 100,000 documents, taken evenly
      from all parts.

    In each case the same parts give the same model, bit for bit, also after a worker was lost.

    Parameters
    ----------
    parts : the training data
    valid : validation data, for rankers that stop early
    mix_every : online rankers: number of queries of each part between two mixes; None: a pass
    machines : trees: number of processes that grow them; None: the number of workers
    on_round, on_progress : called after each round, and when parts are done
    """
    parts.check_queries()
    made: _R = _fit_ranker(ranker, parts, valid, mix_every, machines, on_round, on_progress)
    return made


def _fit_ranker(
    ranker: Ranker,
    parts: Parts,
    valid: QueryDataset | None,
    mix_every: int | None,
    machines: int | None,
    on_round: Callable[[Round], None] | None,
    on_progress: OnProgress | None,
) -> Any:
    if isinstance(ranker, Prepared) and not ranker.traits.is_online:
        wrapper = ranker._fit_sample(parts.sample(SAMPLE))
        judged = None if valid is None else wrapper._transform_part(valid)
        rest = (judged, mix_every, machines, on_round, on_progress)
        inner = _fit_ranker(wrapper.ranker_, parts.transform(wrapper._transform_part), *rest)
        return wrapper._with_ranker(inner)
    if mix_every is not None and not isinstance(ranker, OnlineRanker):
        raise DataError(f"mix_every is for online rankers; {type(ranker).__name__} is not one")
    if machines is not None and not isinstance(ranker, BoostedRanker):
        raise DataError(f"machines is for boosted trees; {type(ranker).__name__} has none")
    made = copy.deepcopy(ranker)
    if isinstance(made, ConvexRanker):
        fit_linear(made, parts, valid=valid, on_round=on_round, on_progress=on_progress)
    elif isinstance(made, BoostedRanker):
        from rankloop.distributed.trees import fit_trees

        fit_trees(made, parts, machines, valid=valid, on_round=on_round, on_progress=on_progress)
    elif isinstance(made, OnlineRanker):
        made = fit_online(made, parts, mix_every=mix_every, on_progress=on_progress)
    else:
        raise DataError(
            f"a {type(made).__name__} needs all data in one process; on a cluster, use a linear "
            "batch ranker (xendcg, listnet, ranksvm, ranknet), boosted trees (xendcg-boost, "
            "lambdamart, listnet-boost) or an online ranker"
        )
    return made
