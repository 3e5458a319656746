"""Turn Arrow values into numbers: categories into their codes, dates into their days."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.io.table_source import arrow
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow
    from numpy.typing import NDArray

_DAY = 86_400_000_000  # microseconds


class Coder:
    """Gives codes to the categories of a column, in order of appearance or as a model has them."""

    def __init__(self, categories: Sequence[str] | None = None) -> None:
        self._code = {category: k for k, category in enumerate(categories or ())}
        self.grows = categories is None

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories, by code."""
        return tuple(self._code)

    def code(self, array: pyarrow.Array) -> NDArray[np.float32]:
        """Return the code of each value; NaN if it is null, or unknown to the model."""
        pa = arrow()
        if pa.types.is_dictionary(array.type):
            array = plain_words(array)
        if pa.types.is_floating(array.type):
            array = _whole(array)
        encoded = array.cast(pa.string()).dictionary_encode()
        words = encoded.dictionary.to_pylist()
        if self.grows:
            for word in words:
                self._code.setdefault(word, len(self._code))
        codes = np.array([*(self._code.get(word, np.nan) for word in words), np.nan], np.float32)
        places = encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
        found: NDArray[np.float32] = codes[places]
        return found


def plain_words(array: pyarrow.DictionaryArray) -> pyarrow.Array:
    """Return the values of a dictionary array, without the dictionary."""
    pa = arrow()
    words = array.dictionary  # of polars: views, which `take` does not know
    words = words.cast(pa.string()) if words.type == pa.string_view() else words
    return words.take(array.indices)


def days(array: pyarrow.Array) -> NDArray[np.float32]:
    """Return dates or times as days since 1970, NaN if null."""
    pa = arrow()
    try:
        instants = array.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"cannot read a date: {error}") from None
    known = ~array.is_null().to_numpy(zero_copy_only=False)
    found = np.full(len(array), np.nan, np.float32)
    found[known] = instants.drop_null().to_numpy(zero_copy_only=False) / _DAY
    return found


def _whole(array: pyarrow.Array) -> pyarrow.Array:
    """Return whole numbers as integers; frames hold them as floats if some are missing."""
    pa = arrow()
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        return array
