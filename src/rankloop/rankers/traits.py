"""What a ranker can do with data, as one value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """What kind of ranker it is, and which data it takes.

    is_online : whether it can learn query by query, with `learn` and `partial_fit`
    scores_rows_alone : whether a row's score does not depend on the other rows of its query
    takes_raw_features : whether it works well on features of very different scales
    takes_nan : whether it treats NaN features as missing values; otherwise they are an error
    takes_sparse : whether it learns from sparse rows; otherwise it needs a dense matrix
    takes_kinds : whether it accepts dates and categories; otherwise it needs numbers
    takes_equal_grades : whether it also learns from queries whose documents have equal grades;
        others learn only from differences within a query
    is_robust : whether it still learns well after a query with an extreme outlier
    is_baseline : whether it is a baseline for comparison, which need not learn

    Examples
    --------
    A class changes those of its parent:

    >>> from dataclasses import replace
    >>> replace(Traits(is_online=True), takes_sparse=True).takes_sparse
    True
    """

    is_online: bool = False
    scores_rows_alone: bool = True
    takes_raw_features: bool = False
    takes_nan: bool = False
    takes_sparse: bool = False
    takes_kinds: bool = False
    takes_equal_grades: bool = False
    is_robust: bool = True
    is_baseline: bool = False
