"""Noise for experiments on robustness: documents that are not relevant, and wrong grades."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.validation import check_rng
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

GRADE_PROBABILITIES = (0.5, 0.2, 0.15, 0.1, 0.05)
"""Of grades 0 to 4, where a grade is drawn anew."""


def add_negatives(data: QueryDataset, share: float, rng: np.random.Generator) -> QueryDataset:
    """Add documents of other queries to each query, with grade 0, after its own.

    Parameters
    ----------
    data : at least two queries with documents
    share : how many to add, as a multiple of the query's own number, at least 0, rounded
    rng : random generator; a document may be drawn twice

    Notes
    -----
    Cost: O(n) time and memory for the result.

    Examples
    --------
    >>> data = QueryDataset.from_arrays([[1.0], [2.0], [3.0], [4.0]], [1, 0, 1, 2], group=[2, 2])
    >>> more = add_negatives(data, 0.5, np.random.default_rng(0))
    >>> more.y.tolist(), more.sizes.tolist()
    ([1.0, 0.0, 0.0, 1.0, 2.0, 0.0], [3, 3])

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank (2021): section 5.4.
    """
    check_rng(rng)
    if not np.isfinite(share) or share < 0:
        raise DataError(f"share must be a number of at least 0; found {share!r}")
    sizes = data.sizes
    if np.count_nonzero(sizes) < 2:
        raise DataError(
            "negatives are taken from other queries, so at least two queries must have documents"
        )
    added = np.floor(share * sizes + 0.5).astype(np.int64)
    others = data.n_documents - sizes
    drawn = np.floor(rng.random(added.sum()) * np.repeat(others, added)).astype(np.int64)
    start, size = np.repeat(data.offsets[:-1], added), np.repeat(sizes, added)
    drawn += np.where(drawn >= start, size, 0)  # step over the query itself
    query = np.arange(len(data))
    order = np.argsort(np.r_[np.repeat(query, sizes), np.repeat(query, added)], kind="stable")
    rows = np.r_[np.arange(data.n_documents), drawn][order]
    grades = np.r_[data.y, np.zeros(len(drawn))][order]
    return QueryDataset(
        data.X[rows],
        grades,
        np.r_[0, np.cumsum(sizes + added)].astype(np.int64),
        data.query_ids,
        None if data.doc_ids is None else data.doc_ids[rows],
        data.feature_names,
        None if data.sample_weight is None else data.sample_weight[rows],
        data.query_weight,
    )


def perturb_grades(
    data: QueryDataset,
    share: float,
    rng: np.random.Generator,
    probabilities: Sequence[float] = GRADE_PROBABILITIES,
) -> QueryDataset:
    """Replace the grades of some judged documents by random ones.

    Parameters
    ----------
    data : any data; unjudged documents stay unjudged
    share : the probability with which a grade is replaced, from 0 to 1
    rng : random generator
    probabilities : probabilities of the new grades 0, 1, 2 and so on; they sum to 1

    Notes
    -----
    Cost: O(n) time; features are shared with the original.

    Examples
    --------
    >>> data = QueryDataset.from_arrays(np.eye(3), [2, 2, -1], group=[3])
    >>> perturb_grades(data, 1.0, np.random.default_rng(0), (0, 0, 0, 1)).y.tolist()
    [3.0, 3.0, -1.0]

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank (2021): section 5.4.
    """
    check_rng(rng)
    if not 0 <= share <= 1:
        raise DataError(f"share must be from 0 to 1; found {share!r}")
    chances = np.asarray(probabilities, np.float64)
    if chances.ndim != 1 or (chances < 0).any() or not np.isclose(chances.sum(), 1):
        raise DataError(f"probabilities must be at least 0 and sum to 1; found {probabilities!r}")
    hit = (rng.random(data.n_documents) < share) & (data.y >= 0)
    drawn = rng.choice(len(chances), data.n_documents, p=chances / chances.sum())
    return replace(data, y=np.where(hit, drawn, data.y))
