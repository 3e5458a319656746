"""Folds that come as files, in LETOR's layout."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.io.files import COMPRESSED_SUFFIXES
from rankloop.data.sparse_rows import SparseRows, as_dense_type
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from rankloop.data.dataset import QueryDataset

_ROLES = {
    "train": ("train", "trainingset", "set1.train"),
    "vali": ("vali", "valid", "validationset", "set1.valid"),
    "test": ("test", "testset", "set1.test"),
}
"""Names of a part's file: of LETOR 4 and MSLR, of LETOR 3, and of Yahoo's set 1."""

_INSIDE = ("QueryLevelNorm", "full", "sample")
"""Folders inside a collection's own that hold its folds, in LETOR 3 and Istella."""

_PARTS = 5
_VALIDATING = 5  # every fifth training query, where no file validates


@dataclass(frozen=True)
class Fold:
    """The files of one fold; nothing is read before :meth:`read`.

    Without `vali`, the last fifth of the training queries validates.
    """

    name: str
    train: tuple[Path, ...]
    vali: tuple[Path, ...]
    test: tuple[Path, ...]

    def read(self, **options: Any) -> tuple[QueryDataset, QueryDataset, QueryDataset]:
        """Read training, validation and test data, all with the same number of features.

        Options go to :func:`rankloop.data.io.letor.read_letor`.
        """
        from rankloop.data.io.letor import read_letor

        roles = (self.train, self.vali, self.test)
        parts = [read_letor(*paths, **options) for paths in roles if paths]
        if not self.vali:
            kept = parts[0].n_queries - -(-parts[0].n_queries // _VALIDATING)
            whole = parts.pop(0)
            parts = [whole.select(slice(0, kept)), whole.select(slice(kept, None)), *parts]
        width = max(part.n_features for part in parts)
        train, vali, test = (_widen(part, width) for part in parts)
        return train, vali, test


def letor_folds(folder: str | os.PathLike[str]) -> list[Fold]:
    """Find the folds of a data set in LETOR's layout; files may be compressed.

    It looks for these, in this order: `Fold1`, `Fold2`, ... each with `train`, `vali` (or `valid`)
    and `test`; five parts `S1` to `S5`, of which fold i trains on i, i+1 and i+2, validates on i+3
    and tests on i+4, counting round; or `train`, `vali` and `test` in the folder itself. As
    published, collections also name these files otherwise (LETOR 3 `trainingset`, Yahoo's set 1
    `set1.train`), keep them one folder deeper (`QueryLevelNorm`, Istella's `full` and `sample`), or
    have no file that validates (Istella's `full`; then the last fifth of the training queries
    does). Yahoo's set 2 is another collection: it is not read. Files end in `.txt`, `.txt.gz`,
    `.txt.xz` or `.txt.zst`; where two hold the same part, the first of these is taken.
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
    for inside in _INSIDE:
        if not whole and (root / inside).is_dir():
            return letor_folds(root / inside)
    raise DataError(
        f"{root} holds no folds: looked for Fold1, Fold2, ..., for S1.txt to S5.txt and for "
        f"train.txt, vali.txt and test.txt (also .gz, .xz, .zst); found {_listing(root)}"
    )


def _fold_in(folder: Path) -> Fold:
    files: dict[str, tuple[Path, ...]] = {}
    for role, names in _ROLES.items():
        path = _file(folder, *names)
        if path is None and role == "vali" and folder.name == "full":
            files[role] = ()
            continue
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


def _widen(data: QueryDataset, width: int) -> QueryDataset:
    # a text file that never names its last features means that they are 0
    if data.n_features == width:
        return data
    if isinstance(data.X, SparseRows):
        return replace(data, X=as_dense_type(data.X.with_width(width)))
    return replace(data, X=np.pad(data.X, ((0, 0), (0, width - data.n_features))))
