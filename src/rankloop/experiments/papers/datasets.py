"""Data sets by name: real ones if they are available, or simulated ones if that is allowed."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.folds import Fold, letor_folds
from rankloop.data.io.formats import read
from rankloop.data.joining import concat
from rankloop.data.simulate import mslr_like
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankloop.data.dataset import QueryDataset

FOLDERS: Mapping[str, tuple[str, ...]] = {
    "OHSUMED": ("OHSUMED",),
    "MQ2007": ("MQ2007",),
    "MQ2008": ("MQ2008",),
    "HP2003": ("HP2003",),
    "HP2004": ("HP2004",),
    "NP2003": ("NP2003",),
    "NP2004": ("NP2004",),
    "TD2003": ("TD2003",),
    "TD2004": ("TD2004",),
    "MSLR": ("MSLR-WEB30K", "MSLR-WEB10K", "MSLR", "MSLR-sample"),
    "Yahoo": ("Yahoo", "Yahoo-LTRC", "ltrc_yahoo"),
    "Yandex": ("Yandex", "YandexIMat2009", "YandexIMat2009-sample"),
}
"""The folders that a data set is looked for in; a `-sample` is a part of it."""

_STAND_INS = {"MSLR": (136, 120.0), "Yahoo": (519, 24.0), "Yandex": (245, 9.0)}


@dataclass(frozen=True)
class Source:
    """A data set that was found, or made.

    kind : `real`, `sample` (a part of the real one), `simulated`, or `own`: made by the experiment
    """

    name: str
    kind: str = "own"
    folder: Path | None = None
    simulated: QueryDataset | None = None

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
        try:
            fold = self.folds[0]
        except DataError:
            return read(self.folder)
        return concat([replace(part, doc_ids=None) for part in fold.read()])

    @property
    def quick_data(self) -> QueryDataset:
        """Some of its queries, for a look."""
        return self.data.select(slice(0, 60))

    def __str__(self) -> str:
        if self.kind == "own":
            return "made by the experiment"
        if self.simulated is not None:
            return f"{self.name} ({self.kind}, {len(self.simulated):,} queries)"
        return f"{self.folder.name if self.folder else self.name} ({self.kind})"


def roots(data: Sequence[str] = ()) -> list[Path]:
    """List where data sets are looked for: folders given, then RANKLOOP_DATA."""
    given = [Path(text) for text in data if "=" not in text]
    named = os.environ.get("RANKLOOP_DATA")
    return [*given, *([Path(named)] if named else [])]


def find(name: str, data: Sequence[str] = ()) -> Source | None:
    """Find a real data set by name; None where it was not available.

    Parameters
    ----------
    data : folders that hold data sets, and `NAME=FOLDER` for a single one
    """
    if name not in FOLDERS:
        raise DataError(f"unknown data set {name!r}; known: {', '.join(FOLDERS)}")
    for text in data:
        key, equals, folder = text.partition("=")
        if equals and key == name:
            if not Path(folder).is_dir():
                raise DataError(f"there is no folder {folder} for {name}")
            return Source(name, "real", Path(folder))
    for root in roots(data):
        for folder in FOLDERS[name]:
            if (root / folder).is_dir():
                kind = "sample" if folder.endswith("-sample") else "real"
                return Source(name, kind, root / folder)
    return None


def stand_in(name: str, queries: int, seed: int) -> Source | None:
    """Simulate web search of about a data set's shape; None where nothing looks like it."""
    if name not in _STAND_INS:
        return None
    features, length = _STAND_INS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    made = mslr_like(queries, rng, n_features=features, mean_length=length)
    return Source(name, "simulated", simulated=made.data)
