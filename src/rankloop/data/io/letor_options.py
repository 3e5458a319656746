"""The options of the LETOR readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankloop._utils.processors import threads
from rankloop.exceptions import DataError

_MAX = 10_000_000
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class LetorOptions:
    """How to read LETOR text.

    Parameters
    ----------
    n_features : number of columns; None means the largest index
    zero_based : whether indices start at 0; None means from 1, unless there is an index 0
    null : the value for `NULL`; with NaN, missing values stay missing, and `nan` and its Microsoft
        spellings (`1.#QNAN`, `-1.#IND`) are missing values instead of errors
    max_index : a larger feature index is an error instead of a huge matrix; None means 100,000,
        or 10 million for sparse rows
    skip_bad_rows : leave out bad rows, with a BadRowsWarning that counts them
    doc_ids : keep the ids of `#docid = ...` comments
    sparse : keep only the features that are not 0 (:class:`SparseRows`): memory and time follow
        from the nonzeros, whatever the largest index is. `"auto"` reads sparse rows and makes them
        dense where they are not at most an eighth of the dense matrix.
    threads : number of threads, at most 1,024; None means one per processor, at most 8. Any number
        gives the same result.
    """

    n_features: int | None = None
    zero_based: bool | None = None
    null: float = 0.0
    max_index: int | None = None
    skip_bad_rows: bool = False
    doc_ids: bool = True
    sparse: bool | Literal["auto"] = False
    threads: int | None = None

    def __post_init__(self) -> None:
        most = {"n_features": _MAX, "max_index": _MAX, "threads": 1024}
        for name, limit in most.items():
            value = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, int | np.integer):
                raise DataError(f"{name} must be a whole number; found {value!r}")
            if value < 1:
                raise DataError(f"{name} must be at least 1; found {value}")
            if value > limit:
                raise DataError(f"{name} must be at most {limit:,}; found {value:,}")
        if self.sparse not in (True, False, "auto"):
            raise DataError(f"sparse must be True, False or 'auto'; found {self.sparse!r}")
        if not isinstance(self.null, int | float | np.number) or abs(self.null) > _LARGEST:
            raise DataError(
                f"null must be a number that float32 can hold, or NaN; found {self.null!r}"
            )

    @property
    def largest_index(self) -> int:
        """The largest index that is not an error."""
        return self.max_index or (_MAX if self.sparse else 100_000)

    @property
    def n_threads(self) -> int:
        """Threads to use."""
        return self.threads or threads()
