"""Click logs made from judged queries and simulated users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.log.log import ClickLog
from rankloop.data.io.files import bare_suffix
from rankloop.data.io.replacing import replace_when_done
from rankloop.data.io.tables.sources import arrow
from rankloop.data.validation import check_counts, check_rng
from rankloop.exceptions import DataError
from rankloop.measures.ranking import rank_order

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from rankloop.clicks.users import SimulatedUser
    from rankloop.data.dataset import QueryDataset


def simulate_log(
    data: QueryDataset,
    scores: ArrayLike | None,
    user: SimulatedUser,
    rng: np.random.Generator,
    *,
    impressions: int = 10,
    k: int = 10,
    noise: float = 0.0,
) -> ClickLog:
    """Show each query several times, ranked by scores, and draw clicks by its true grades.

    Parameters
    ----------
    data : judged queries
    scores : of the logging ranker; None: every page is in random order
    user : who clicks
    impressions : of each query
    k : how many documents a page shows
    noise : standard deviation of the noise that is added to the scores of each page, as a multiple
        of the standard deviation of all scores: with more noise, documents change places more often

    Examples
    --------
    >>> from rankloop.clicks.users import make_user
    >>> from rankloop.data.simulate import separable
    >>> data = separable(5, np.random.default_rng(0), n_grades=3).data
    >>> simulate_log(data, None, make_user("perfect"), np.random.default_rng(0))
    ClickLog(50 pages, 5 queries, 500 shown documents, 261 clicks)
    """
    check_rng(rng)
    check_counts(impressions=impressions, k=k)
    if not noise >= 0:
        raise DataError(f"noise must be at least 0; found {noise!r}")
    fixed = np.zeros(data.n_documents) if scores is None else np.asarray(scores, np.float64)
    spread = 1.0 if scores is None else noise * (fixed.std() or 1.0)
    sizes = np.minimum(np.diff(data.offsets), k)
    starts = np.r_[0, np.cumsum(sizes)]
    first = np.repeat(data.offsets[:-1] - starts[:-1], sizes) + np.arange(starts[-1])
    shown, clicks = [], []
    for _ in range(impressions):
        drawn = fixed + spread * rng.normal(size=data.n_documents) if spread > 0 else fixed
        rows = rank_order(data, drawn)[first]
        shown.append(rows)
        clicks.append(user.sample(rng, data.y[rows], starts))
    rows = np.concatenate(shown)
    documents = np.arange(data.n_documents) if data.doc_ids is None else data.doc_ids
    pages = np.arange(impressions)[:, None] * len(data) + np.arange(len(data))
    return ClickLog.from_rows(
        np.tile(np.repeat(data.query_ids, sizes), impressions),
        documents[rows],
        np.concatenate(clicks),
        page=np.repeat(pages.ravel(), np.tile(sizes, impressions)),
    )


def write_click_table(log: ClickLog, path: str | os.PathLike[str], **more: ArrayLike) -> None:
    """Write one row per shown document: page, query, document, position, clicked.

    The suffix decides between CSV and Parquet. The file is written completely or not at all.

    Parameters
    ----------
    more : further columns by name, in the order of the log's rows
    """
    pa = arrow()
    pages = np.arange(len(log)) if log.page_ids is None else log.page_ids
    columns = {
        "page": np.repeat(pages, log.sizes),
        "query": log.query_ids[log.row_queries],
        "document": log.document_ids[log.documents],
        "position": log.positions,
        "clicked": log.clicks.astype(np.int8),
        **{name: np.asarray(values) for name, values in more.items()},
    }
    table = pa.table({name: values.tolist() for name, values in columns.items()})
    suffix = bare_suffix(path)
    if suffix not in (".csv", ".parquet"):
        raise DataError(
            f"click logs can be written as .csv or .parquet; found {suffix or 'no suffix'!r}"
        )
    with replace_when_done(path) as partial:
        if suffix == ".csv":
            from pyarrow import csv

            csv.write_csv(table, partial)
        else:
            from pyarrow import parquet

            parquet.write_table(table, partial)
