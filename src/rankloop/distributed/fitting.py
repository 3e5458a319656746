"""Fit a ranker on a cluster; linear rankers, trees and online rankers each have a method."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from rankloop._utils.argument_names import argument
from rankloop.distributed.cluster import dask
from rankloop.distributed.linear import fit_linear
from rankloop.distributed.mixing import INSTEAD, fit_online
from rankloop.distributed.parts import SAMPLE, Parts
from rankloop.exceptions import DataError
from rankloop.features.columns import Features
from rankloop.rankers.batch.linear import ConvexRanker
from rankloop.rankers.boosting.base import BoostedRanker
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.wrappers.described import Described
from rankloop.rankers.wrappers.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.data.dataset import QueryDataset
    from rankloop.distributed.columns import PartColumns
    from rankloop.distributed.progress import OnProgress
    from rankloop.rankers.base import Ranker
    from rankloop.rankers.rounds import Round

    _R = TypeVar("_R", bound=Ranker)


def fit(
    ranker: _R,
    data: Any,
    *,
    client: Any = None,
    by_query: bool = False,
    valid: QueryDataset | None = None,
    mix_every: int | None = None,
    machines: int | None = None,
    on_round: Callable[[Round], None] | None = None,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> _R:
    """Return a fitted copy of a ranker; no part of the data comes to this process.

    - Linear batch rankers (`XENDCG`, `ListNet`, `RankSVM`, `RankNet`, `LossLinear`): the exact
      optimum, by sums over the parts in their order.
    - Boosted trees: LightGBM's data-parallel ranker, in one process per machine. The trees depend
      on the parts and on the number of machines.
    - Online rankers: iterative parameter mixing; see :mod:`rankloop.distributed.mixing`.
    - `Prepared` and `Described` around one of these: scalers, and the medians that replace missing
      values, are fitted to about 100,000 documents, taken evenly from all parts. Categories and
      ranges are those of all parts.

    Parts may have their columns in another order, number their categories in another way, or have
    no rows.

    In each case the same parts give the same model, bit for bit, also after a worker was lost.

    Parameters
    ----------
    data : the training data: :class:`Parts`, or what they are made of: files, a Dask frame ...
    client : of the cluster, if `data` is not made of parts yet; None: the client of this process
    by_query, options : as of :class:`Parts`
    valid : validation data, for rankers that stop early
    mix_every : online rankers: number of queries of each part between two mixes; None: a pass
    machines : trees: number of processes that grow them; None: the number of workers
    on_round, on_progress : called after each round, and when parts are done
    """
    parts = as_parts(data, client, by_query=by_query, **options)
    parts.check_queries()
    parts, columns = parts.arranged()
    judged = valid
    if valid is not None and columns.is_described:
        judged = columns.arrange(valid)
    made: _R = _Fitting(columns, mix_every, machines, on_round, on_progress).fit(
        ranker, parts, judged
    )
    return made


@dataclass(frozen=True)
class _Fitting:
    """How parts with some columns are learnt from."""

    columns: PartColumns
    mix_every: int | None
    machines: int | None
    on_round: Callable[[Round], None] | None
    on_progress: OnProgress | None

    def fit(self, ranker: Ranker, parts: Parts, valid: QueryDataset | None) -> Any:
        """Return a fitted copy of a ranker; a wrapper first fits its transformation to a sample."""
        if isinstance(ranker, Described) and not self._is_given(ranker):
            described = self._describe(ranker, parts.sample(SAMPLE))
            if isinstance(described, OnlineRanker):
                given = described.copy().set_params(description=described.features)
                made = self._fit_plain(given, parts, valid)
                made.description = ranker.description
                return made
            return self._fit_within(described, parts, valid)
        if isinstance(ranker, Prepared | Described) and not ranker.traits.is_online:
            return self._fit_within(ranker._fit_sample(parts.sample(SAMPLE)), parts, valid)
        return self._fit_plain(ranker, parts, valid)

    def _is_given(self, ranker: Described) -> bool:
        return ranker.description is not None

    def _describe(self, ranker: Described, sample: QueryDataset) -> Described:
        """Return a wrapper with a description: medians of a sample, and all else of all parts."""
        new = ranker.copy()
        new._check_encoding()
        new._reset(sample.n_features)
        new._fit_transformation(sample)
        assert new.features is not None
        limits = new.category_limit, new.category_buckets
        # A sample may have no missing value where the data has one.
        holes = self.columns.missing
        features = self.columns.complete(new.features, *limits, clip=new._clips)
        columns = [
            replace(column, missing=new.missing)
            if hole and column.kind != "category" and column.missing == "default"
            else column
            for column, hole in zip(features, holes, strict=True)
        ]
        new.description_ = Features(tuple(columns)).to_dict()
        new.ranker_ = new._fresh()
        return new

    def _fit_within(
        self, wrapper: Prepared | Described, parts: Parts, valid: QueryDataset | None
    ) -> Any:
        judged = None if valid is None else wrapper._transform_part(valid)
        inner = self.fit(wrapper.ranker_, parts.transform(wrapper._transform_part), judged)
        return wrapper._with_ranker(inner)

    def _fit_plain(self, ranker: Ranker, parts: Parts, valid: QueryDataset | None) -> Any:
        more = (self.mix_every, self.machines, self.on_round, self.on_progress)
        return _fit_ranker(ranker, parts, valid, *more)


def as_parts(data: Any, client: Any = None, **options: Any) -> Parts:
    """Return parts as they are, or those of files, a Dask frame or a bag on a client's cluster."""
    if isinstance(data, Parts):
        given = [name for name, value in options.items() if value]
        if given:
            raise DataError(f"{argument(given[0])} belongs to Parts, which were given already")
        return data
    if client is None:
        try:
            client = dask().get_client()
        except ValueError:
            raise DataError(
                "there is no Dask client; connect first (rankloop.distributed.connect), and pass "
                "client="
            ) from None
    return Parts(client, data, **options)


def _fit_ranker(
    ranker: Ranker,
    parts: Parts,
    valid: QueryDataset | None,
    mix_every: int | None,
    machines: int | None,
    on_round: Callable[[Round], None] | None,
    on_progress: OnProgress | None,
) -> Any:
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
        raise DataError(f"{type(made).__name__} needs all data in one process; {INSTEAD}")
    return made
