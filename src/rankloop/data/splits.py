"""Splits into training, validation and test data: always by query, never through one."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.files import COMPRESSED_SUFFIXES
from rankloop.data.grouping import group_by_id
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset

_ROLES = {"train": ("train",), "vali": ("vali", "valid"), "test": ("test",)}
_PARTS = 5


@dataclass(frozen=True)
class Fold:
    """The files of one fold; nothing is read before :meth:`read`."""

    name: str
    train: tuple[Path, ...]
    vali: tuple[Path, ...]
    test: tuple[Path, ...]

    def read(self, **options: Any) -> tuple[QueryDataset, QueryDataset, QueryDataset]:
        """Read training, validation and test data, all with the same number of features.

        Options go to :func:`rankloop.data.letor.read_letor`.
        """
        from rankloop.data.letor import read_letor

        parts = [read_letor(*paths, **options) for paths in (self.train, self.vali, self.test)]
        width = max(part.n_features for part in parts)
        train, vali, test = (_widened(part, width) for part in parts)
        return train, vali, test


def letor_folds(folder: str | os.PathLike[str]) -> list[Fold]:
    """Find the folds of a data set in LETOR's layout; compressed files count as well.

    Looked for, in this order: `Fold1`, `Fold2`, ... each with `train`, `vali` (or `valid`) and
    `test`; five parts `S1` to `S5`, of which fold i trains on i, i+1 and i+2, validates on i+3
    and tests on i+4, counting round; or `train`, `vali` and `test` in the folder itself. Files
    end in `.txt`, `.txt.gz`, `.txt.xz` or `.txt.zst`; where two hold the same part, the first of
    these is taken.
    """
    root = Path(folder)
    if not root.is_dir():
        raise DataError(f"there is no folder {root}; give the one that holds the folds")
    numbered = {
        int(match[1]): path
        for path in root.iterdir()
        if path.is_dir() and (match := re.fullmatch(r"[Ff]old(\d+)", path.name))
    }
    if numbered:
        missing = set(range(1, max(numbered) + 1)) - numbered.keys()
        if missing:
            raise DataError(
                f"{root} has Fold{max(numbered)} but no Fold{min(missing)}; complete it, or give "
                "one fold's own folder"
            )
        return [_fold_in(numbered[i]) for i in sorted(numbered)]
    parts = [_file(root, f"S{i}") for i in range(1, _PARTS + 1)]
    whole = [part for part in parts if part is not None]
    if len(whole) == _PARTS:
        return [_fold_of_parts(whole, i) for i in range(_PARTS)]
    if not whole and any(_file(root, *names) for names in _ROLES.values()):
        return [_fold_in(root)]
    raise DataError(
        f"{root} holds no folds: looked for Fold1, Fold2, ..., for S1.txt to S5.txt and for "
        f"train.txt, vali.txt and test.txt (also .gz, .xz, .zst); found {_listing(root)}"
    )


def _fold_in(folder: Path) -> Fold:
    files = {}
    for role, names in _ROLES.items():
        path = _file(folder, *names)
        if path is None:
            raise DataError(
                f"{folder} has no {role} file: looked for {' or '.join(n + '.txt' for n in names)}"
                f" (also .gz, .xz, .zst); found {_listing(folder)}"
            )
        files[role] = (path,)
    return Fold(folder.name, **files)


def _fold_of_parts(parts: Sequence[Path], i: int) -> Fold:
    turned = (*parts[i:], *parts[:i])
    return Fold(f"Fold{i + 1}", turned[:3], turned[3:4], turned[4:5])


def _file(folder: Path, *names: str) -> Path | None:
    candidates = (
        folder / f"{name}.txt{suffix}" for name in names for suffix in ("", *COMPRESSED_SUFFIXES)
    )
    return next((path for path in candidates if path.is_file()), None)


def _listing(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return (", ".join(names[:8]) + (", ..." if len(names) > 8 else "")) or "nothing"


def _widened(data: QueryDataset, width: int) -> QueryDataset:
    # a text file that never names its last features means that they are 0
    if data.n_features == width:
        return data
    return replace(data, X=np.pad(data.X, ((0, 0), (0, width - data.n_features))))


def random_split(
    dataset: QueryDataset,
    fractions: Sequence[float] = (0.6, 0.2, 0.2),
    *,
    rng: np.random.Generator,
) -> tuple[QueryDataset, ...]:
    """Deal queries at random into parts of these sizes; every query goes to exactly one.

    A part has its fraction of the queries, rounded, and at least one. Inside a part queries keep
    their order. Costs a copy of the data.

    Parameters
    ----------
    fractions : two or more, each above 0, that add up to 1
    rng : the source of randomness

    Examples
    --------
    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays(np.zeros((10, 1)), np.zeros(10), qid=range(10))
    >>> [len(part) for part in random_split(data, rng=np.random.default_rng(0))]
    [6, 2, 2]
    """
    check_rng(rng)
    shares = np.asarray(fractions, np.float64)
    if (
        shares.ndim != 1
        or len(shares) < 2
        or not (shares > 0).all()
        or abs(shares.sum() - 1) > 1e-9
    ):
        raise DataError(
            f"fractions must be two or more numbers above 0 that add up to 1; found {fractions}"
        )
    n = dataset.n_queries
    if n < len(shares):
        raise DataError(f"{n} queries cannot be split into {len(shares)} parts")
    counts = np.diff(np.rint(np.r_[0.0, np.cumsum(shares)] * n)).astype(np.int64)
    while (counts == 0).any():
        counts[counts.argmax()] -= 1
        counts[counts.argmin()] += 1
    parts = np.split(rng.permutation(n), np.cumsum(counts)[:-1])
    return tuple(dataset.select(np.sort(part)) for part in parts)


def k_folds(
    dataset: QueryDataset, k: int, rng: np.random.Generator
) -> Iterator[tuple[QueryDataset, QueryDataset]]:
    """Yield k pairs (train, test); every query is tested exactly once.

    Test parts differ by at most one query. Each pair is copied when its turn comes.

    Parameters
    ----------
    k : from 2 to the number of queries
    rng : the source of randomness, used at once
    """
    check_rng(rng)
    _check_folds(k, dataset.n_queries)
    tests = np.array_split(rng.permutation(dataset.n_queries), k)
    masks = (np.isin(np.arange(dataset.n_queries), test) for test in tests)
    return ((dataset.select(~mask), dataset.select(mask)) for mask in masks)


class QueryKFold:
    """Split rows into folds of whole queries, for scikit-learn's `cv=`.

    Pass the query ids as `groups`, in any row order. Test parts differ by at most one query.

    Parameters
    ----------
    n_splits : from 2 to the number of queries
    shuffle : deal queries at random; otherwise test parts are consecutive queries
    random_state : a seed (the same folds every time) or a Generator (new ones every time);
        needed with `shuffle`, not allowed without

    Examples
    --------
    >>> for train, test in QueryKFold(2).split(np.zeros((4, 1)), groups=["b", "a", "b", "c"]):
    ...     print(train, test)
    [3] [0 1 2]
    [0 1 2] [3]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds."""
        return self.n_splits

    def split(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        groups: ArrayLike | None = None,
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the row numbers of each fold's training and test part."""
        if groups is None:
            raise DataError("QueryKFold needs the query ids of the rows: pass them as groups=")
        if self.shuffle != (self.random_state is not None):
            raise DataError(
                "random_state and shuffle=True go together; found "
                f"shuffle={self.shuffle}, random_state={self.random_state}"
            )
        grouping = group_by_id(groups)
        n_rows, n_queries = grouping.offsets[-1], len(grouping.ids)
        expected = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != expected:
            raise DataError(f"groups has {n_rows:,} values for {expected:,} rows")
        _check_folds(self.n_splits, n_queries)
        order = np.arange(n_queries)
        if self.shuffle:
            order = np.random.default_rng(self.random_state).permutation(n_queries)
        query_of_row = np.repeat(np.arange(n_queries), np.diff(grouping.offsets))
        if grouping.rows is not None:
            query_of_row[grouping.rows] = query_of_row.copy()
        for test in np.array_split(order, self.n_splits):
            tested = np.isin(query_of_row, test)
            yield np.flatnonzero(~tested), np.flatnonzero(tested)

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn that `split` wants `groups`; only scikit-learn calls this."""
        # its own splitter by groups says just that, and is loaded by whoever asks
        return sys.modules["sklearn.model_selection"].GroupKFold().get_metadata_routing()

    def __repr__(self) -> str:
        return (
            f"QueryKFold(n_splits={self.n_splits}, shuffle={self.shuffle}, "
            f"random_state={self.random_state})"
        )


def check_rng(rng: object) -> None:
    """Raise unless this is a NumPy random generator."""
    if not isinstance(rng, np.random.Generator):
        raise DataError(
            f"rng must be a NumPy random generator; found {rng!r}: "
            "write np.random.default_rng(seed)"
        )


def _check_folds(k: int, n_queries: int) -> None:
    if not isinstance(k, int | np.integer) or not 2 <= k <= n_queries:
        raise DataError(
            f"the number of folds must be a whole number from 2 to the number of queries, "
            f"{n_queries}; found {k!r}"
        )
