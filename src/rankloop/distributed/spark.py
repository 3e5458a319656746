"""Linear rankers and scores on Spark: the same sums over parts as on a Dask cluster.

A part is a partition of a Spark frame. The frame is brought into partitions of whole queries and
kept by Spark. Each step of the optimisation is one `mapInPandas` over it, whose result is a row for
each partition, so that the driver adds up numbers only.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, TypeVar

from rankloop.data.io.tables.reading import from_table
from rankloop.distributed.columns import describe_columns, unite_columns
from rankloop.distributed.linear import PartwiseLoss
from rankloop.distributed.prediction import score_frame
from rankloop.distributed.summary import check_summaries, summarise_part
from rankloop.exceptions import DataError, MissingExtraError
from rankloop.features.columns import needs_description
from rankloop.rankers.batch.linear import ConvexRanker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats
    from rankloop.rankers.base import Ranker

    _C = TypeVar("_C", bound=ConvexRanker)

_RESULT = "part long, error string, result binary"


def fit_on_spark(
    ranker: _C, frame: Any, query: str = "qid", *, parts: int | None = None, **options: Any
) -> _C:
    """Return a fitted copy of a linear batch ranker: the exact optimum, by sums over partitions.

    Parameters
    ----------
    ranker : `XENDCG`, `ListNet`, `RankSVM`, `RankNet` or `LossLinear`
    frame : a Spark frame with a column of grades and columns of numbers without missing values
    query : its column of query ids
    parts : the number of partitions; None: those that Spark chooses. The last bits depend on it
    options : of tables, such as `label` and `drop`

    Cost: about 30 passes over the frame, which Spark keeps in memory meanwhile.
    """
    if not isinstance(ranker, ConvexRanker):
        raise DataError(
            f"{type(ranker).__name__} cannot be trained on Spark, only linear batch rankers "
            "(xendcg, listnet, ranksvm, ranknet) can; write the frame to Parquet, train on Dask "
            "(rankloop train --cluster) or on one machine, and score with predict_on_spark, which "
            "takes any ranker"
        )
    _check_spark()
    numbers = (query,) if parts is None else (parts, query)
    kept = frame.repartition(*numbers).persist()
    try:
        given = {"query": query, **options}
        found = _map_parts(kept, given, _look, ranker)
        names = [f"partition {part}" for part, _ in found]
        columns = unite_columns([described for _, (described, _) in found], names)
        like, n_queries = check_summaries([summary for _, (_, summary) in found], names)
        total = _SparkLoss(kept, given, ranker)
        made = ranker.copy()
        made.fit_sum(total, columns.arrange(like), n_queries=n_queries)
        return made
    finally:
        kept.unpersist()


def predict_on_spark(ranker: Ranker, frame: Any, query: str = "qid", **options: Any) -> Any:
    """Return the frame with a column `score`, computed by Spark's workers from whole queries.

    Parameters
    ----------
    ranker : any fitted ranker; categories, dates and missing values are as it learnt them
    frame : a Spark frame with the ranker's columns; grades are not needed
    """
    _check_spark()
    from pyspark.sql.types import DoubleType, StructField, StructType

    schema = StructType([*frame.schema.fields, StructField("score", DoubleType())])
    given = {"query": query, **options}
    content = ranker.dumps()

    def score(rows: Any) -> Any:
        from rankloop.rankers.model_files.saving import loads

        return rows.assign(score=score_frame(rows, loads(content), given))

    return frame.groupBy(query).applyInPandas(score, schema)


def _check_spark() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "training and scoring on Spark") from None


class _SparkLoss(PartwiseLoss):
    """The loss of the partitions of a frame."""

    def __init__(self, frame: Any, options: Mapping[str, Any], ranker: ConvexRanker) -> None:
        self._frame, self._options, self._ranker = frame, options, ranker

    def _all(self, method: str, *given: Floats) -> list[Any]:
        found = _map_parts(self._frame, self._options, _compute, self._ranker, method, given)
        return [result for _, result in found if result is not None]


def _look(data: QueryDataset, ranker: ConvexRanker) -> Any:
    if data.n_documents:
        if needs_description(data):
            raise DataError(
                "on Spark, linear rankers take numbers without missing values; fill them in, or "
                "give categories columns of their own, before"
            )
        ranker._check_part(data)
    return describe_columns(data), summarise_part(data)


def _compute(
    data: QueryDataset, ranker: ConvexRanker, method: str, given: tuple[Floats, ...]
) -> Any:
    return getattr(ranker.part_loss(data), method)(*given) if data.n_documents else None


def _map_parts(
    frame: Any, options: Mapping[str, Any], function: Callable[..., Any], *given: Any
) -> list[tuple[int, Any]]:
    """Apply a function to each partition that has rows; return results by its number."""
    packed = pickle.dumps((function, given, dict(options)))

    def apply(batches: Iterator[Any]) -> Iterator[Any]:
        import pandas as pd
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None  # this runs on a worker
        number = context.partitionId()
        rows = [batch for batch in batches if len(batch)]
        if not rows:
            return
        todo, more, reading = pickle.loads(packed)
        try:
            data = from_table(pd.concat(rows, ignore_index=True), allow_nan=True, **reading)
            result, error = pickle.dumps(todo(data, *more)), ""
        except DataError as problem:  # Spark would print a stack instead
            result, error = b"", str(problem)
        yield pd.DataFrame({"part": [number], "error": [error], "result": [result]})

    found = sorted(frame.mapInPandas(apply, _RESULT).collect(), key=lambda row: row["part"])
    wrong = next((row for row in found if row["error"]), None)
    if wrong is not None:
        raise DataError(f"partition {wrong['part']}: {wrong['error']}")
    return [(row["part"], pickle.loads(row["result"])) for row in found]
