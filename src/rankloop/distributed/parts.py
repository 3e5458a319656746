"""Parts of a data set on a cluster: each has whole queries, and is loaded by a worker."""

from __future__ import annotations

import copy
import os
import re
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import TEXT
from rankloop.data.io.formats import read
from rankloop.data.io.locations import data_files
from rankloop.data.io.mapped import read_mapped
from rankloop.data.joining import concat
from rankloop.data.mapped_parts import in_parts
from rankloop.distributed.calling import gather_results, submit
from rankloop.distributed.columns import PartColumns, describe_columns, unite_columns
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from distributed import Future
    from numpy.typing import NDArray

    from rankloop.data.grouping import Ids
    from rankloop.distributed.progress import OnProgress

    T = TypeVar("T")
    Task = Callable[..., T]
    Then = Callable[[QueryDataset], QueryDataset] | None
    Options = Mapping[str, Any]  # of reading

PLAIN_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_MAPPED_PART = 2**28
_NO_FEATURES: Mapping[str, object] = {"like": None, "features": (), "category": (), "lists": ()}
SAMPLE = 100_000
"""Documents that a scaler is fitted to."""


@dataclass(frozen=True)
class FilePart:
    """A file of whole queries, or some queries of a mapped file; workers read it."""

    path: str
    options: Options
    queries: tuple[int, int] | None = None

    def load(self) -> QueryDataset:
        """Read the queries of this part."""
        if self.queries is not None:
            return read_mapped(self.path, doc_ids=False).select(slice(*self.queries))
        return read(self.path, allow_empty=True, **self.options)

    def query_ids(self) -> Ids:
        """Read the ids of the queries; of tables, features are not read."""
        if self.queries is not None:
            return self.load().query_ids
        return read(self.path, allow_empty=True, **{**self.options, **_NO_FEATURES}).query_ids


class Parts:
    """A data set in parts, on a cluster; only descriptions of the parts are in this process.

    Parameters
    ----------
    client : a client of the cluster, from :func:`rankloop.distributed.connect`
    data : files, folders or patterns of any format, of which each file is a part that every worker
        can read (a mapped file is divided into several); a Dask frame, whose partitions are parts;
        a Dask bag of rows (dictionaries) or of data sets; or a list of data sets
    by_query : the rows of a query may be in several parts: bring them together first, by a shuffle
        on the workers, which hold all data meanwhile. Otherwise a query in two parts is an error.
    options : options of :func:`rankloop.read`, or, for frames and bags, of
        :func:`rankloop.from_table`
    """

    def __init__(self, client: Any, data: Any, *, by_query: bool = False, **options: Any) -> None:
        self.client = client
        self.names, sources = _sources(client, data, options)
        self._options = {} if isinstance(sources[0], FilePart) else options
        self._then: Then = None
        self._sources = self._shuffle(sources) if by_query else sources

    def __len__(self) -> int:
        return len(self._sources)

    def transform(self, function: Callable[[QueryDataset], QueryDataset]) -> Parts:
        """Return parts that pass through a function when they are loaded, such as a scaler."""
        new = copy.copy(self)
        new._then = function if self._then is None else _Both(self._then, function)
        return new

    def columns(self) -> PartColumns:
        """Return what the columns of all parts hold; a part that has other columns is an error."""
        found = self.map(describe_columns, what="looking at columns")
        return unite_columns(found, self.names)

    def arranged(self) -> tuple[Parts, PartColumns]:
        """Return the parts that have rows, with their columns in one order and one numbering."""
        found = self.map(describe_columns, what="looking at columns")
        columns = unite_columns(found, self.names)
        filled = [k for k, part in enumerate(found) if part.n_documents]
        new = self.transform(columns.arrange)
        new.names = [self.names[k] for k in filled]
        new._sources = [self._sources[k] for k in filled]
        return new, columns

    def sample(self, documents: int) -> QueryDataset:
        """Bring about this many documents to this process, in every n-th query of each part."""
        samples = self.map(_sample, -(-documents // len(self)), what="sampling")
        return _join(samples)

    def map(
        self,
        function: Task[T],
        *given: object,
        what: str = "computing",
        on_progress: OnProgress | None = None,
    ) -> list[T]:
        """Apply a function to each part, where it is loaded; return the results in order."""
        return gather_results(
            self.client, self.submit(function, *given), self.names, what, on_progress
        )

    def submit(self, function: Task[T], *given: object) -> list[Future[T]]:
        """Apply a function to each part, and keep the results on the workers, as futures."""
        return [
            submit(self.client, _apply, source, self._options, self._then, function, given)
            for source in self._sources
        ]

    def submit_together(
        self, function: Task[T], places: range, *given: object, **where: object
    ) -> Future[T]:
        """Apply a function to an iterator over some parts, which are loaded one after the other."""
        some = [self._sources[k] for k in places]
        loading = some, self._options, self._then
        return submit(self.client, _apply_together, *loading, function, given, **where)

    def check_queries(self) -> None:
        """Raise if a query is in more than one part; a worker compares 64-bit hashes of the ids."""
        held = [submit(self.client, _hashes_of, source, self._options) for source in self._sources]
        task = submit(self.client, _first_shared, held)
        shared = gather_results(self.client, [task], ["all parts"])[0]
        if shared is not None:
            first, other = (self.names[k] for k in shared)
            raise DataError(
                f"{first} and {other} have a query in common, but parts must have whole queries; "
                "write them so, or bring the rows of each query together with by_query=True "
                "(--by-query)"
            )

    def _shuffle(self, sources: Sequence[object]) -> Sequence[object]:
        """Return the same number of parts; the hash of its id decides which part a query is in."""
        n = len(sources)
        loaded = [submit(self.client, _load, source, self._options) for source in sources]
        pieces = [[submit(self.client, _piece, part, k, n) for part in loaded] for k in range(n)]
        joined = [submit(self.client, _join, some) for some in pieces]
        self.names = [f"part {k + 1} of the queries" for k in range(n)]
        return joined


@dataclass(frozen=True)
class _Both:
    """Two functions, one after the other; a worker can load it, unlike a closure."""

    first: Callable[[QueryDataset], QueryDataset]
    second: Callable[[QueryDataset], QueryDataset]

    def __call__(self, data: QueryDataset) -> QueryDataset:
        return self.second(self.first(data))


def _sources(client: Any, data: Any, options: Options) -> tuple[list[str], Sequence[object]]:
    """Return names and sources of the parts: file descriptions, data sets, or futures of tables."""
    if hasattr(data, "to_delayed"):
        futures = client.compute(list(data.to_delayed()))
        return [f"partition {k}" for k in range(len(futures))], futures
    alone = isinstance(data, str | os.PathLike | QueryDataset)
    given: list[Any] = [data] if alone else list(data)
    if not given:
        raise DataError("there are no parts; name at least one file, or give a data set")
    if all(isinstance(source, QueryDataset) for source in given):
        return [f"part {k}" for k in range(len(given))], given
    names, parts = [], []
    chosen = {name: value for name, value in options.items() if name != "notice"}
    for file in (file for place in given for file in data_files(place)):
        for name, part in _of_file(file, chosen):
            names.append(name)
            parts.append(part)
    return names, parts


def _of_file(file: str, options: Options) -> list[tuple[str, FilePart]]:
    if not file.endswith(".rlds"):
        return [(file, FilePart(file, options))]
    parts, first = [], 0
    for part in in_parts(read_mapped(file, doc_ids=False), _MAPPED_PART):
        queries = first, first + len(part)
        parts.append((f"{file}, queries {first} to {queries[1] - 1}", FilePart(file, {}, queries)))
        first = queries[1]
    return parts


def _load(source: object, options: Options) -> QueryDataset:
    """Load a part, on a worker."""
    if isinstance(source, FilePart):
        return source.load()
    if isinstance(source, QueryDataset):
        return source
    from rankloop.data.io.tables.reading import from_table

    if isinstance(source, list | tuple):
        rows = list(source)
        if rows and all(isinstance(row, QueryDataset) for row in rows):
            return concat(rows)
        from rankloop.data.io.tables.sources import arrow

        source = arrow().Table.from_pylist(rows)
    elif hasattr(source, "reset_index"):
        source = source.reset_index(drop=True)  # pandas: the index of a partition means nothing
    return from_table(source, allow_nan=True, **options)


def _apply(
    source: object, options: Options, then: Then, function: Task[T], given: Sequence[object]
) -> T:
    return _apply_together([source], options, then, lambda some: function(next(some), *given), ())


def _apply_together(
    sources: Sequence[object],
    options: Options,
    then: Then,
    function: Task[T],
    given: Sequence[object],
) -> T:
    loaded = (_load(source, options) for source in sources)
    return function(loaded if then is None else map(then, loaded), *given)


def _sample(data: QueryDataset, documents: int) -> QueryDataset:
    step = max(data.n_documents // max(documents, 1), 1)
    chosen = data.select(np.arange(0, len(data), step))
    return replace(chosen, X=np.array(chosen.X), doc_ids=None)


def _piece(data: QueryDataset, k: int, n: int) -> QueryDataset:
    return data.select(_hashes(data.query_ids) % np.uint64(n) == k)


def _join(pieces: Sequence[QueryDataset]) -> QueryDataset:
    filled = [piece for piece in pieces if len(piece)]
    if not filled:
        return pieces[0]
    names = [f"piece {k}" for k in range(len(filled))]
    columns = unite_columns([describe_columns(piece) for piece in filled], names)
    return concat([columns.arrange(piece) for piece in filled])


def _hashes_of(source: Any, options: Options) -> NDArray[np.uint64]:
    alone = isinstance(source, FilePart)
    return _hashes(source.query_ids() if alone else _load(source, options).query_ids)


def _hashes(ids: Ids) -> NDArray[np.uint64]:
    """Return a hash of each query id, which is the same on every machine.

    Python's `hash` of text has a random seed in each process, so workers would disagree.
    """
    if ids.dtype == TEXT:
        mixed = np.array([_hash(text) for text in ids.tolist()], np.uint64)
    else:
        mixed = ids.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _hash(text: str) -> int:
    if PLAIN_NUMBER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text) % 2**64  # another part may have this id as a number
    code = text.encode()
    return zlib.crc32(code) << 32 | zlib.crc32(code[::-1])


def _first_shared(hashes: Sequence[NDArray[np.uint64]]) -> tuple[int, int] | None:
    """Return two parts with a query in common, or None."""
    part = np.repeat(np.arange(len(hashes)), [len(some) for some in hashes])
    every = np.concatenate(list(hashes))
    order = np.argsort(every, kind="stable")
    every, part = every[order], part[order]
    equal = np.flatnonzero((every[1:] == every[:-1]) & (part[1:] != part[:-1]))
    return (int(part[equal[0]]), int(part[equal[0] + 1])) if len(equal) else None
