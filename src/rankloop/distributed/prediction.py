"""Score the parts of a data set where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.io.tables.reading import from_table
from rankloop.distributed.fitting import as_parts
from rankloop.rankers.training import read_like

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Ranker


def predict(ranker: Ranker, data: Any, *, client: Any = None, **options: Any) -> Any:
    """Score a Dask frame, or all parts.

    Parameters
    ----------
    ranker : a fitted ranker
    data : a Dask frame, of which the result is a Dask series of scores with the same index and
        partitions, computed when it is needed; or :class:`rankloop.distributed.Parts`, or what they
        are made of, of which the result is an array of scores for each part, in the order of its
        rows
    client : of the cluster, for parts; None: the client of this process
    options : of tables, such as `query` and `drop`; grades are not needed
    """
    if hasattr(data, "map_partitions") and hasattr(data, "to_delayed"):
        import pandas as pd

        meta = pd.Series([], dtype=np.float64, name="score")
        return data.map_partitions(score_frame, ranker, options, meta=meta)
    if not isinstance(data, str) and hasattr(data, "transform") and hasattr(data, "submit"):
        return data.map(score_rows, ranker, what="scoring")
    given = {**_table_options(ranker), **options}
    return as_parts(data, client, **given).map(score_rows, ranker, what="scoring")


def score_rows(data: QueryDataset, ranker: Ranker) -> NDArray[np.float64]:
    """Return the scores of a part, in the order of its rows."""
    if not data.n_documents:
        return np.zeros(0)
    return np.asarray(data.in_row_order(np.asarray(ranker.predict(data), np.float64)))


def score_frame(frame: Any, ranker: Ranker, options: dict[str, Any]) -> Any:
    """Return the scores of a pandas frame of whole queries, as a series with its index."""
    import pandas as pd

    if not len(frame):
        return pd.Series([], index=frame.index, dtype=np.float64, name="score")
    rows = frame.reset_index(drop=True)
    data = from_table(rows, allow_nan=True, **{**_table_options(ranker), **options})
    return pd.Series(score_rows(data, ranker), index=frame.index, name="score")


def _table_options(ranker: Ranker) -> dict[str, Any]:
    """Return how tables are read for a model: with its columns, and without grades."""
    like = read_like(ranker)
    named = {"features": like["like"], "usual_query": like["usual_query"]}
    return {"labelled": False, **{name: value for name, value in named.items() if value}}
