"""The folds of an experiment: those of LETOR's files, or random parts of the queries."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop._utils.arguments import as_list, path_text
from rankloop.data.dataset import QueryDataset
from rankloop.data.folds import letor_folds
from rankloop.data.io.format_names import is_sql
from rankloop.data.io.formats import check_options, read
from rankloop.data.io.locations import data_files, is_remote
from rankloop.data.joining import concat
from rankloop.data.scaling import scaler_from_name
from rankloop.data.splits import random_split
from rankloop.exceptions import DataError
from rankloop.features.columns import Features, needs_description

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankloop.data.folds import Fold

    Parts = tuple[QueryDataset, QueryDataset, QueryDataset]
    PathLike = str | os.PathLike[str]
    Data = QueryDataset | PathLike | Sequence[PathLike]  # a data set, or files or a folder

LEAST_FOLDS = 3
DEFAULT_FOLDS = 5


@dataclass(eq=False)
class Split:
    """Training, validation and test data of one fold, which are read when first needed.

    name : name of the fold
    key : plain values that identify the data
    """

    name: str
    key: list[object]
    read: Callable[[], Parts]
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _parts: Parts | None = None

    def parts(self) -> Parts:
        """Return the data, kept until :meth:`drop`."""
        with self._lock:
            if self._parts is None:
                self._parts = self.read()
            return self._parts

    def drop(self) -> None:
        """Forget the data."""
        with self._lock:
            self._parts = None

    def scale(self, scale: str | None) -> Split:
        """Return the same fold with features scaled as the training part says."""
        if scale is None:
            return self
        scaler_from_name(scale)  # so that a wrong name is an error now

        def read() -> Parts:
            parts = numbers_only(*self.read())
            scaler = scaler_from_name(scale).fit(parts[0])
            train, valid, test = (scaler.transform(part) for part in parts)
            return train, valid, test

        return Split(self.name, [*self.key, scale], read)


def numbers_only(first: QueryDataset, *others: QueryDataset) -> tuple[QueryDataset, ...]:
    """Return data sets that have only finite numbers, encoded as the first one describes."""
    if not any(map(needs_description, (first, *others))):
        return first, *others
    features = Features.learn(first)
    return tuple(
        replace(
            part,
            X=features.encode(features.take(part)),
            feature_names=tuple(features.encoded_names),
            features=None,
        )
        for part in (first, *others)
    )


@dataclass(frozen=True)
class Rotation:
    """Queries in random parts; each is the test part once, and the previous one validates."""

    count: int
    word: ClassVar[str] = "Fold"

    def parts(self, data: QueryDataset, seed: int, i: int) -> Parts:
        """Return the i-th fold."""
        if len(data) < self.count:
            raise DataError(
                f"{len(data)} queries cannot be split into {self.count} folds; use fewer folds"
            )
        order = np.random.default_rng(seed).permutation(len(data))
        parts = np.array_split(order, self.count)
        turned = [*parts[i:], *parts[:i]]
        chosen = np.concatenate(turned[:-2]), turned[-2], turned[-1]
        train, valid, test = (data.select(np.sort(queries)) for queries in chosen)
        return train, valid, test

    def __str__(self) -> str:
        return f"{self.count} folds by query"


@dataclass(frozen=True)
class Trials:
    """Random training, validation and test parts, new ones for every trial.

    >>> Trials.read("0.6/0.2/0.2", 100)
    Trials(count=100, shares=(0.6, 0.2, 0.2))
    """

    count: int
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
    word: ClassVar[str] = "Trial"

    @classmethod
    def read(cls, text: str, count: int) -> Trials:
        """Read the shares as `0.6/0.2/0.2`."""
        try:
            train, valid, test = (float(share) for share in text.split("/"))
        except ValueError:
            raise DataError(f"write splits as 0.6/0.2/0.2; found {text!r}") from None
        return cls(count, (train, valid, test))

    @property
    def overlap(self) -> float:
        """Test queries per training query, as `paired_t` takes it."""
        return self.shares[2] / self.shares[0]

    def __post_init__(self) -> None:
        if self.count < 1:
            raise DataError(f"trials must be at least 1; found {self.count}")
        if min(self.shares) <= 0 or abs(sum(self.shares) - 1) > 1e-9:
            raise DataError(f"splits must be above 0 and add up to 1; found {self.shares}")

    def parts(self, data: QueryDataset, seed: int, i: int) -> Parts:
        """Return the i-th trial."""
        rng = np.random.default_rng([seed, i])
        train, valid, test = random_split(data, self.shares, rng=rng)
        return train, valid, test

    def __str__(self) -> str:
        shares = "/".join(f"{share:g}" for share in self.shares)
        return f"{self.count} random splits {shares} by query"


def find_splits(
    data: Data,
    folds: int | str | None = None,
    *,
    trials: Trials | None = None,
    seed: int = 0,
    **options: Any,
) -> tuple[list[Split], str]:
    """Return the folds, and a text that says how they were made.

    Parameters
    ----------
    data : a data set, or files or a folder
    folds : `letor` for the folder's own folds; a number k, at least 3, puts the queries into k
        random parts, of which each fold trains on k - 2, validates on one and tests on one, in
        LETOR's rotation. The default is LETOR's folds if the folder has them, otherwise 5.
    trials : instead of folds, random splits of all queries
    seed : random seed of the parts
    options : options of :func:`rankloop.data.io.formats.read`
    """
    if trials is not None and folds is not None:
        raise DataError("give either folds or splits and trials, not both")
    if isinstance(data, QueryDataset):
        if folds == "letor":
            raise DataError(
                "a data set in memory has no LETOR folds; give a number of folds, for "
                "example folds=5"
            )
        return _dealt(lambda: data, [_content(data)], trials or Rotation(_number(folds)), seed)
    given = [data] if isinstance(data, str | os.PathLike) else data
    wanted = "a QueryDataset (rankloop.from_table makes one of a frame), or files or a folder"
    places = [path_text(place) for place in as_list("data", given, wanted)]
    paths = [Path(place) for place in places]
    if folds == "letor" or (folds is None and _has_folds(paths)):
        if trials is not None:
            fold = letor_folds(paths[0])[0]  # its parts together hold every query once
            split = _of_files(fold, paths[0], options)
            return _dealt(lambda: concat(split.read()), split.key, trials, seed)
        if len(paths) != 1:
            raise DataError(
                f"LETOR folds must be in one folder; found {len(paths)} paths: give that "
                "folder alone"
            )
        folders = letor_folds(paths[0])
        return [_of_files(fold, paths[0], options) for fold in folders], "LETOR's own folds"
    deal = trials or Rotation(_number(folds))
    files = [file for place in places for file in data_files(place)]
    key = [_stamps(files, None), _describe_options(options)]
    return _dealt(lambda: read(*files, **options), key, deal, seed)


def _has_folds(paths: list[Path]) -> bool:
    if len(paths) != 1 or not paths[0].is_dir():
        return False
    try:
        letor_folds(paths[0])
    except DataError:
        if any(path.is_dir() and path.name.lower() == "fold1" for path in paths[0].iterdir()):
            raise  # broken folds are not to be passed over
        return False
    return True


def _number(folds: int | str | None) -> int:
    try:
        k = DEFAULT_FOLDS if folds is None else int(folds)
    except ValueError:
        k = 0
    if k < LEAST_FOLDS:
        raise DataError(
            f"folds must be letor or a whole number of at least {LEAST_FOLDS} (one part to "
            f"validate on, one to test on, the rest to train on); found {folds!r}"
        )
    return k


def _of_files(fold: Fold, folder: Path, options: dict[str, object]) -> Split:
    files = {"train": fold.train, "vali": fold.vali, "test": fold.test}
    key = [[role, _stamps(paths, folder)] for role, paths in files.items()]
    check_options(options, ["letor"])
    chosen = {name: value for name, value in options.items() if name not in ("format", "notice")}
    return Split(fold.name, [*key, _describe_options(options)], lambda: fold.read(**chosen))


def _dealt(
    whole: Callable[[], QueryDataset], key: Sequence[object], deal: Rotation | Trials, seed: int
) -> tuple[list[Split], str]:
    lock = threading.Lock()
    cache: list[QueryDataset] = []

    def all_data() -> QueryDataset:
        with lock:
            if not cache:
                cache.append(whole())
            return cache[0]

    def reader(i: int) -> Callable[[], Parts]:
        return lambda: deal.parts(all_data(), seed, i)

    splits = [
        Split(f"{deal.word}{i + 1}", [*key, repr(deal), seed, i], reader(i))
        for i in range(deal.count)
    ]
    return splits, f"{deal}, dealt with seed {seed}"


def _stamps(files: Sequence[PathLike], folder: Path | None) -> list[list[object]]:
    """Identify files by name, size and time of change; the folder may be moved."""
    stamps: list[list[object]] = []
    for file in map(Path, files):
        if is_sql(os.fspath(file)) or is_remote(os.fspath(file)):
            stamps.append([os.fspath(file)])
            continue
        try:
            status = file.stat()
        except OSError as error:
            raise DataError(f"{file}: cannot read it: {error.strerror}") from None
        name = file.name if folder is None else file.relative_to(folder).as_posix()
        stamps.append([name, status.st_size, status.st_mtime_ns])
    return stamps


def _content(data: QueryDataset) -> str:
    digest = sha256()
    for array in (data.X, data.y, data.offsets, data.sample_weight, data.query_weight):
        if array is not None:
            digest.update(array.tobytes())
    return digest.hexdigest()


def _describe_options(options: dict[str, object]) -> dict[str, str]:
    return {name: repr(value) for name, value in sorted(options.items()) if name != "notice"}
