"""Online rankers on a cluster: a copy learns from each part, and the copies are merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.mapped_parts import borrow
from rankloop.distributed.calling import gather_results, submit
from rankloop.distributed.parts import SAMPLE
from rankloop.distributed.progress import PartsCounter
from rankloop.distributed.summary import check_summaries, summarise_part
from rankloop.exceptions import DataError
from rankloop.rankers.online.base import shuffled
from rankloop.rankers.parameters import check_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.distributed.parts import Parts
    from rankloop.distributed.progress import OnProgress
    from rankloop.rankers.online.base import OnlineRanker

INSTEAD = (
    "on a cluster, train a linear batch ranker (xendcg, listnet, ranksvm, ranknet), boosted trees "
    "(xendcg-boost, lambdamart, listnet-boost) or a linear online ranker (auto, newton, slam); or "
    "train this one on one machine, from a sample or a mapped file (rankloop convert), and score "
    "on the cluster with rankloop.distributed.predict, which takes any ranker"
)
"""What helps where a ranker cannot be trained on a cluster."""


def fit_online(
    ranker: OnlineRanker,
    parts: Parts,
    *,
    mix_every: int | None = None,
    on_progress: OnProgress | None = None,
) -> OnlineRanker:
    """Return a ranker that has seen all parts, by iterative parameter mixing.

    A copy of the ranker learns `mix_every` queries of each part; the copies are merged
    (:meth:`OnlineRanker.merge`), and the merged ranker continues with the next queries, for
    `ranker.passes` passes. With a `random_state`, the queries of a part are in a new order in each
    pass. A scaler is fitted to a sample of all parts first. A ranker that adapts does not do so
    here, because parts are in no order of time; it adapts to what it learns later. The result
    depends on the parts and on `mix_every`, not on the number of workers.

    Parameters
    ----------
    mix_every : number of queries of each part between two mixes; None: a whole pass
    on_progress : called after each mix

    References
    ----------
    McDonald, Hall and Mann, Distributed training strategies for the structured perceptron (2010):
    iterative parameter mixing.
    """
    if mix_every is not None:
        check_whole("mix_every", mix_every)
    client, names = parts.client, parts.names
    held = parts.submit(_check_part, ranker)
    futures = [submit(client, summarise_part, part) for part in held]
    summaries = gather_results(client, futures, names, "loading", on_progress)
    like, _ = check_summaries(summaries, names)
    model = ranker.copy()
    if not (ranker.warm_start and ranker.is_fitted):
        model = _start_anew(ranker)
    if model._looks_ahead:
        model._look_ahead(parts.sample(SAMPLE))
    if len(parts) > 1:
        _check_mergeable(model, like)
    steps = list(_steps([s.n_queries for s in summaries], mix_every, ranker.passes))
    counter = PartsCounter("mixing", len(steps), on_progress)
    for number, first, end in steps:
        base = submit(client, _return_model, model)  # scattered data would be lost with its worker
        chosen = [k for k, s in enumerate(summaries) if first < s.n_queries]
        learnt = [
            submit(client, _learn_part, base, held[k], _seed(ranker, number, k), first, end)
            for k in chosen
        ]
        merged = submit(client, _merge, base, learnt)
        gather_results(client, learnt, [names[k] for k in chosen])
        model = gather_results(client, [merged], ["all parts"])[0]
        counter.tick()
    return model


def _steps(sizes: list[int], every: int | None, passes: int) -> Iterator[tuple[int, int, int]]:
    """Yield the pass, the first query and the end of the queries of a part between two mixes.

    >>> list(_steps([5, 3], 2, 1))
    [(0, 0, 2), (0, 2, 4), (0, 4, 6)]
    """
    longest = max(sizes)
    for number in range(passes):
        for first in range(0, longest, every or longest):
            yield number, first, first + (every or longest)


def _start_anew(ranker: OnlineRanker) -> OnlineRanker:
    return type(ranker)(**ranker.get_params(deep=False))


def _check_mergeable(ranker: OnlineRanker, like: QueryDataset) -> None:
    """Raise, before the work begins, if models of this ranker cannot be merged."""
    first, other = ranker.copy().partial_fit(like), ranker.copy().partial_fit(like)
    try:
        first.merge([other], ranker if ranker.is_fitted else None)
    except DataError as error:
        raise DataError(f"{error}; {INSTEAD}") from None


def _seed(ranker: OnlineRanker, number: int, part: int) -> list[int] | None:
    return None if ranker.random_state is None else [ranker.random_state, number, part]


def _check_part(data: QueryDataset, ranker: OnlineRanker) -> QueryDataset:
    ranker._check_part(data)
    return data


def _return_model(model: OnlineRanker) -> OnlineRanker:
    """Return the model, as a task: if its worker is lost, Dask runs the task again."""
    return model


def _learn_part(
    base: OnlineRanker, data: QueryDataset, seed: list[int] | None, first: int, end: int
) -> OnlineRanker:
    queries: slice | NDArray[np.int64] = slice(first, end)
    if seed is not None:
        queries = np.random.default_rng(seed).permutation(len(data))[queries]
    with borrow(data), shuffled():  # parts side by side are in no order of time
        return base.copy().partial_fit(data.select(queries))


def _merge(base: OnlineRanker, learnt: list[OnlineRanker]) -> OnlineRanker:
    return learnt[0].merge(learnt[1:], base if base.is_fitted else None)
