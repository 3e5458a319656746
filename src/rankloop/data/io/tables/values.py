"""Turn Arrow columns into checked arrays of ids, grades and features; an error names the row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop import _core
from rankloop.data.grouping import TEXT
from rankloop.data.io.tables.sources import arrow
from rankloop.data.validation import bad_feature
from rankloop.exceptions import DataError, MemoryLimitError

if TYPE_CHECKING:
    from typing import TypeVar

    import pyarrow
    from numpy.typing import NDArray

    from rankloop.data.grouping import Ids
    from rankloop.data.io.tables.roles import Columns
    from rankloop.data.io.tables.sources import TableSource
    from rankloop.features.column import Feature, Kind

    S = TypeVar("S", bound=np.generic)


_DAY = 86_400_000_000  # microseconds
_TEXT_COPIES = 4  # of ids: in a page, as they are read, joined and gathered


def read_roles(
    source: TableSource, roles: dict[str, str], first_row: int, spare: int | None = None
) -> dict[str, NDArray[Any]]:
    """Return ids, grades and weights by role; errors count rows from `first_row`.

    `spare` is the number of bytes for long ids.
    """
    pa = arrow()
    texts = [name for name in roles.values() if not is_number(source.schema.field(name).type)]
    parts = {  # an empty part each, for their types
        role: [_role_values(pa.nulls(0, source.schema.field(name).type), role, name, 0)]
        for role, name in roles.items()
    }
    row = first_row
    for batch in source.batches(tuple(roles.values()), 65_536):
        if spare is not None:
            spare -= sum(_TEXT_COPIES * batch.column(name).nbytes for name in texts)
            if spare < 0:
                raise MemoryLimitError(
                    f"the ids of the first {row + batch.num_rows:,} rows take more than the memory "
                    "limit leaves for them; shorten them, or raise memory_limit"
                )
        for role, name in roles.items():
            parts[role].append(_role_values(batch.column(name), role, name, row))
        row += batch.num_rows
    return {role: np.concatenate(arrays) for role, arrays in parts.items()}


def read_features(
    batch: pyarrow.RecordBatch, columns: Columns, first_row: int, allow_nan: bool
) -> NDArray[np.float32]:
    """Return the features of a batch, whose first row is `first_row`."""
    if columns.listed:
        block = _list_features(batch.column(columns.features[0]), columns, first_row)
    else:
        block = np.empty((batch.num_rows, columns.width), np.float32)
        for j, (name, kind) in enumerate(zip(columns.features, columns.kinds, strict=True)):
            block[:, j] = _numbers(batch.column(name), name, kind, columns, first_row)
    bad = _core.first_not_finite(block, allow_nan=allow_nan)
    if bad >= 0:
        raise bad_feature(block, bad, columns.names, first_row)
    return block


def _numbers(
    array: pyarrow.Array, name: str, kind: str, columns: Columns, first_row: int
) -> NDArray[np.float32]:
    """Return one column of features as numbers."""
    pa = arrow()
    if kind == "category":
        return columns.coders[name].code(array)
    if kind == "date":
        return days(array)
    try:
        if pa.types.is_dictionary(array.type):
            array = plain_words(array)
        return _floats(array, np.float32)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        for i, text in enumerate(array.to_pylist()):
            if isinstance(text, str) and not is_float(text):
                found = f"column {name!r} should hold numbers, but row {first_row + i} has {text!r}"
                raise DataError(f"{found}; correct the data").at_row(first_row + i) from None
        raise DataError(
            f"column {name!r} should hold numbers, but holds {array.type}: {error}"
        ) from None


def _list_features(array: pyarrow.Array, columns: Columns, first_row: int) -> NDArray[np.float32]:
    lengths = _floats(arrow().compute.list_value_length(array), np.float64)
    bad = np.flatnonzero(lengths != columns.width)
    if len(bad):
        length = lengths[bad[0]]
        raise DataError(
            f"{columns.features[0]!r} of row {first_row + bad[0]} "
            f"{'is null' if np.isnan(length) else f'has {length:.0f} values'}; expected "
            f"{columns.width}, as many in every row"
        )
    return _floats(array.flatten(), np.float32).reshape(len(array), columns.width)


def _role_values(array: pyarrow.Array, role: str, name: str, row: int) -> NDArray[Any]:
    """Convert ids, grades or weights whose first row is `row`, and check each value."""
    pa = arrow()
    if pa.types.is_dictionary(array.type):
        array = plain_words(array)
    if role not in ("query", "doc_id") and len(array) and not is_number(array.type):
        raise _not_a_number(array, role, name, row)
    if array.null_count:
        null = row + array.is_null().to_numpy(zero_copy_only=False).argmax()
        error = DataError(f"{name!r} is null in row {null}; every row needs its {role}")
        raise error.at_row(null)
    if role in ("query", "doc_id"):
        ids = _ids(array, role, name, row)
        return ids if role == "query" or ids.dtype == TEXT else ids.astype(TEXT)
    values = _floats(array, np.float64)
    wrong, expected = ~np.isfinite(values), "a finite number"
    if role != "label":
        wrong, expected = wrong | (values < 0), "a finite number >= 0"
    _refuse(wrong, values, role, name, row, expected)
    return values


def _not_a_number(array: pyarrow.Array, role: str, name: str, row: int) -> DataError:
    """Return the error for a column of grades or weights that has another type."""
    for i, text in enumerate(array.to_pylist()):
        if isinstance(text, str) and not is_float(text):
            error = f"{name!r} of row {row + i} is {text!r}; a {role} must be a number"
            return DataError(error).at_row(row + i)
    return DataError(f"column {name!r} holds {array.type}; a {role} must be a number")


def is_float(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _ids(array: pyarrow.Array, role: str, name: str, row: int) -> Ids:
    pa = arrow()
    kind, types = array.type, pa.types
    if types.is_null(kind):  # of no rows: there would be an error for each
        return np.empty(0, np.int64)
    if types.is_floating(kind):  # as frames make them of whole numbers
        values = _floats(array, np.float64)
        wrong = ~np.isfinite(values) | (values != np.floor(values)) | (np.abs(values) >= 2**63)
        _refuse(wrong, values, role, name, row, "a whole number or text")
        return values.astype(np.int64)
    try:
        if types.is_binary(kind) or types.is_large_binary(kind):
            array = array.cast(pa.string())
        elif types.is_integer(kind) and role == "query":
            array = array.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise DataError(f"column {name!r} does not hold ids: {error}") from None
    integer = types.is_integer(array.type)
    if not integer and array.type not in (pa.string(), pa.large_string(), pa.string_view()):
        raise DataError(f"column {name!r} holds {kind}; ids must be whole numbers or text")
    values = np.asarray(array.to_numpy(zero_copy_only=False))
    return values if integer else values.astype(TEXT)


def _refuse(
    wrong: NDArray[np.bool_],
    values: NDArray[np.float64],
    role: str,
    name: str,
    row: int,
    expected: str,
) -> None:
    if wrong.any():
        i = wrong.argmax()
        error = f"{name!r} of row {row + i} is {values[i]}; a {role} must be {expected}"
        raise DataError(error).at_row(row + int(i))


def _floats(array: pyarrow.Array, dtype: type[S]) -> NDArray[S]:
    """Return Arrow numbers as floats: null as NaN, and too large ones as inf."""
    kind = arrow().from_numpy_dtype(dtype)
    return np.asarray(array.cast(kind, safe=False).to_numpy(zero_copy_only=False))


def is_list(kind: pyarrow.DataType) -> bool:
    """Whether each value of this Arrow type is a list."""
    types = arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_number(kind: object) -> bool:
    """Whether values of this Arrow type are numbers, or all missing."""
    t = arrow().types
    return any(
        test(kind) for test in (t.is_integer, t.is_floating, t.is_boolean, t.is_decimal, t.is_null)
    )


def kind_of(kind: pyarrow.DataType) -> Kind | None:
    """Return the kind of values of an Arrow type; None if a ranker cannot use them."""
    t = arrow().types
    if t.is_dictionary(kind):
        kind = kind.value_type
    if t.is_boolean(kind):
        return "boolean"
    if is_number(kind):
        return "number"
    if t.is_date(kind) or t.is_timestamp(kind):
        return "date"
    text = (t.is_string, t.is_large_string, t.is_string_view)
    return "category" if any(test(kind) for test in text) else None


class Coder:
    """Gives codes to the categories of a column, in order of appearance or as a model has them."""

    def __init__(self, model: Feature | None = None, is_named: bool = False) -> None:
        self._code = {category: k for k, category in enumerate(model.categories if model else ())}
        self._model = model
        self.grows = model is None
        self.is_named = is_named  # the caller says that these are categories

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories, by code."""
        return tuple(self._code)

    @property
    def codes(self) -> dict[str, Any]:
        """What the codes mean, as arguments of :class:`Feature`: a model's codes have buckets."""
        if self._model is None:
            return {"categories": self.categories}
        model = self._model
        return {"categories": model.categories, "limit": model.limit, "buckets": model.buckets}

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
        code_of = self._code.__getitem__ if self._model is None else self._model.code_of
        # Null gets the index behind the last word, where the code is NaN.
        codes = np.array([*map(code_of, words), np.nan], np.float32)
        places = encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
        result: NDArray[np.float32] = codes[places]
        return result


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
    result = np.full(len(array), np.nan, np.float32)
    result[known] = instants.drop_null().to_numpy(zero_copy_only=False) / _DAY
    return result


def _whole(array: pyarrow.Array) -> pyarrow.Array:
    """Return whole numbers as integers; frames hold them as floats if some are missing."""
    pa = arrow()
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        return array
