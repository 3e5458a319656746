"""Data sets by name: published ones if they are available, or simulated ones if that is allowed."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.folds import Fold, letor_folds
from rankloop.data.io.formats import read
from rankloop.data.joining import concat
from rankloop.data.simulate import GRADE_SHARES, mslr_like
from rankloop.exceptions import DataError
from rankloop.experiments.papers.collections import COLLECTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.data.dataset import QueryDataset

IMAT = "imat2009_learning.txt"
"""The judged file of Internet Mathematics 2009, which names the query in a comment."""

_YAHOO_SHARES = (0.26, 0.36, 0.28, 0.08, 0.02)  # of grades 0 to 4 in set 1
_STAND_INS = {
    "MSLR-WEB10K": (136, 120.0, GRADE_SHARES),
    "MSLR-WEB30K": (136, 120.0, GRADE_SHARES),
    "Yahoo": (519, 24.0, _YAHOO_SHARES),
    "Yahoo-train": (519, 24.0, _YAHOO_SHARES),
    "Yandex": (245, 9.0, GRADE_SHARES),
}


@dataclass(frozen=True)
class Source:
    """A data set that was found, or made.

    name : of a collection, or of the part of an experiment that makes its own data
    given : where data sets are, as in :func:`find`
    """

    name: str
    folder: Path | None = None
    simulated: QueryDataset | None = None
    given: tuple[str, ...] = ()

    @cached_property
    def kind(self) -> str:
        """What it is, by its size.

        `real`; `partial`, a declared part that is nearly the whole; `sample`, any other part;
        `simulated`; or `own`, made by the experiment.
        """
        if self.folder is None:
            return "own" if self.simulated is None else "simulated"
        collection, size = COLLECTIONS[self.name], (self.data.n_queries, self.data.n_documents)
        if collection.is_whole(*size):
            return "real"
        declared = collection.partial.get(self.folder.name)
        return "partial" if declared and declared[:2] == size else "sample"

    @property
    def folds(self) -> list[Fold]:
        """The folds that it comes in."""
        if self.folder is None:
            raise DataError(f"{self.name} is {self.kind} and has no folds")
        return letor_folds(self.folder)

    @cached_property
    def data(self) -> QueryDataset:
        """All its queries, once each."""
        if self.simulated is not None:
            return self.simulated
        assert self.folder is not None
        if (self.folder / IMAT).is_file():
            return _read_imat(self.folder / IMAT)
        try:
            fold = self.folds[0]
        except DataError:
            return read(self.folder)
        only = COLLECTIONS[self.name].only
        parts = fold.read()[:1] if only == "train" else fold.read()
        return concat([replace(part, doc_ids=None) for part in parts])

    @property
    def quick_data(self) -> QueryDataset:
        """Some of its queries, for a look."""
        return self.data.select(slice(0, 60))

    def beside(self, name: str) -> Source:
        """Return another collection from where this one was found."""
        other = find(name, self.given)
        if other is None and self.folder is not None:
            other = find(name, [str(self.folder.parent)])
        if other is None:
            raise DataError(f"{name} was not available: {COLLECTIONS[name].get}")
        return other

    def __str__(self) -> str:
        if self.kind == "own":
            return "made by the experiment"
        if self.simulated is not None:
            return f"{self.name} ({self.kind}, {len(self.simulated):,} queries)"
        assert self.folder is not None
        if self.kind == "partial":
            return f"{self.folder.name} ({COLLECTIONS[self.name].partial[self.folder.name][2]})"
        return f"{self.folder.name} ({self.kind})"


def roots(data: Sequence[str] = ()) -> list[Path]:
    """List where data sets are looked for: folders given, then RANKLOOP_DATA."""
    given = [Path(text) for text in data if "=" not in text]
    named = os.environ.get("RANKLOOP_DATA")
    return [*given, *([Path(named)] if named else [])]


def find(name: str, data: Sequence[str] = ()) -> Source | None:
    """Find a collection, or a part of it, by name; None if there is none.

    A folder of the whole collection in any place is taken before one of a part of it.

    Parameters
    ----------
    data : folders that hold data sets, and `NAME=FOLDER` for a single one
    """
    if name not in COLLECTIONS:
        raise DataError(f"unknown data set {name!r}; known: {', '.join(COLLECTIONS)}")
    collection = COLLECTIONS[name]
    for text in data:
        key, equals, folder = text.partition("=")
        if equals and key in (name, collection.key):
            if not Path(folder).is_dir():
                raise DataError(f"there is no folder {folder} for {key}")
            return Source(name, Path(folder), given=tuple(data))
    for folders in (collection.folders, (*collection.partial, *collection.samples)):
        for root in roots(data):
            for folder in folders:
                if (root / folder).is_dir():
                    return Source(name, root / folder, given=tuple(data))
    return None


def stand_in(name: str, queries: int, seed: int) -> Source | None:
    """Simulate web search of about a collection's shape; None if nothing looks like it."""
    if name not in _STAND_INS:
        return None
    features, length, shares = _STAND_INS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    made = mslr_like(queries, rng, n_features=features, mean_length=length, grade_shares=shares)
    return Source(name, simulated=made.data)


def _read_imat(path: Path) -> QueryDataset:
    """Read `grade index:value ... # query` lines, which LETOR text would write with qid:query."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "imat.txt"
        with path.open(encoding="ascii") as lines, text.open("w", encoding="ascii") as letor:
            for number, line in enumerate(lines, start=1):
                row, comment, query = line.partition("#")
                grade, _, features = row.partition(" ")
                if not comment or not query.strip():
                    raise DataError(
                        f"{path}:{number}: a line must end with its query, as in `1 2:0.5 # 7`"
                    )
                letor.write(f"{grade} qid:{query.strip()} {features}\n")
        return read(text)
