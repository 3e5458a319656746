"""Export a ranker, and prove that the exported form scores as the ranker does."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.export.describe import program_of
from rankloop.export.originals import Originals
from rankloop.export.program import Trees
from rankloop.export.targets import target
from rankloop.measures.ranking import rank_order

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from rankloop.data.dataset import QueryDataset
    from rankloop.export.targets import Target
    from rankloop.rankers.base import Ranker

CLOSE = 1e-6
"""Up to this share of the largest score of a query, a difference is rounding."""


def export(
    ranker: Ranker,
    to: str,
    path: str | os.PathLike[str] | None = None,
    *,
    features: Sequence[str] | None = None,
    **options: object,
) -> str | bytes:
    """Return a ranker in the form of another engine; with a path, also write it to a file.

    Parameters
    ----------
    ranker : a fitted ranker
    to : json, c, sql, onnx, elasticsearch, opensearch, elasticsearch-native, solr or vespa
    path : the file to write, completely or not at all
    features : names for the features, in order; None: those of the training data, or f1, f2, ...
    options : of the target: `name` (elasticsearch, opensearch, solr, vespa); `dialect`, `table`,
        `query` and `document` (sql)

    Raises
    ------
    DataError
        if the engine cannot compute what the ranker computes; the message says what can.

    >>> import rankloop as rl
    >>> ranker = rl.Slam().learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> "rankloop_score" in export(ranker, "c")
    True
    """
    engine = target(to)
    _check_options(engine, options)
    content = engine.render(program_of(ranker, features), **options)
    if path is not None:
        from rankloop.data.io.replacing import replace_when_done

        with replace_when_done(path) as partial:
            Path(partial).write_bytes(content.encode() if isinstance(content, str) else content)
    return content


@dataclass(frozen=True)
class Verified:
    """How the scores of an exported ranker compare with its own.

    target : the engine
    real : whether the engine itself scored; else our copy of its arithmetic
    rows, queries : how many were scored
    rows_different : rows whose score is not the same number
    rows_apart : rows whose score differs by more than :data:`CLOSE`
    largest : the largest difference, as a share of the largest score of its query
    queries_reordered : queries whose documents come in another order
    """

    target: str
    real: bool
    rows: int
    queries: int
    rows_different: int
    rows_apart: int
    largest: float
    queries_reordered: int

    @property
    def verdict(self) -> str:
        """Return `exact`, `within 1e-6`, or `differs`."""
        if not self.rows_different:
            return "exact"
        return "differs" if self.rows_apart else "within 1e-6"


def verify(
    ranker: Ranker,
    to: str,
    data: QueryDataset,
    *,
    features: Sequence[str] | None = None,
    **options: object,
) -> Verified:
    """Score data through the exported form, and compare with the ranker.

    The engine gets the rows as the user's table has them: the texts of categories, and dates as
    dates.

    Parameters
    ----------
    ranker, to, features, options : see :func:`export`; for sql also `database`, the address of a
        PostgreSQL server
    data : rows to score; it needs no grades

    >>> import rankloop as rl
    >>> from rankloop.data.simulate import separable
    >>> data = separable(20, np.random.default_rng(0)).data
    >>> verify(rl.Slam().fit(data), "c", data).verdict
    'exact'
    """
    engine = target(to)
    _check_options(engine, options)
    program, offsets = program_of(ranker, features), data.offsets
    ours = np.asarray(ranker.predict(data), np.float64)
    theirs = engine.run(program, Originals.of(program, ranker, data), **options)
    sizes = np.diff(offsets)
    scale = np.maximum.reduceat(np.abs(ours), offsets[:-1][sizes > 0]) if len(ours) else ours
    apart = np.abs(theirs - ours) / np.repeat(np.where(scale > 0, scale, 1.0), sizes[sizes > 0])
    ranks = [rank_order(data, scores) for scores in (ours, np.where(apart == 0, ours, theirs))]
    query = np.repeat(np.arange(len(sizes)), sizes)
    moved = query[ranks[0] != ranks[1]]
    return Verified(
        to,
        engine.is_real,
        len(ours),
        int((sizes > 0).sum()),
        int(np.count_nonzero(theirs != ours)),
        int(np.count_nonzero(apart > CLOSE)),
        float(apart.max(initial=0.0)),
        len(np.unique(moved)),
    )


def rounding_moves(ranker: Ranker, X: ArrayLike) -> int:
    """Count the rows that reach another leaf once their features are rounded to float32.

    Rankloop, Elasticsearch's and OpenSearch's plugins, Solr and Vespa see float32 features. A model
    of Rankloop was trained on them, so nothing moves; one that was imported may have been trained
    on float64. If rows move, train it on features that are rounded: `X.astype(np.float32)`.

    Parameters
    ----------
    ranker : trees on features as they are
    X : float64 rows

    >>> from rankloop.rankers.batch.rankboost import RankBoost
    >>> ranker = RankBoost().fit([[0.1], [0.3]], [0, 1], group=[2])
    >>> threshold = float(ranker.thresholds_[0])
    >>> rounding_moves(ranker, [[threshold + 1e-12], [0.5]])
    1
    """
    output = program_of(ranker).output
    if not isinstance(output, Trees):
        raise DataError(f"a {type(ranker).__name__} is not a sum of trees on unscaled features")
    wide = np.asarray(X, np.float64)
    narrow = wide.astype(np.float32).astype(np.float64)
    moved = np.zeros(len(wide), bool)
    for tree in output.trees:
        moved |= tree.leaves(wide) != tree.leaves(narrow)
    return int(np.count_nonzero(moved))


def _check_options(engine: Target, options: dict[str, object]) -> None:
    known = [name for name in inspect.signature(engine.render).parameters if name != "program"]
    for name in options:
        if name not in known:
            allowed = ", ".join(known) or "none"
            raise DataError(f"{engine.name} has no option {name!r}; its options: {allowed}")
