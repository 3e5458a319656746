"""Save and load rankers: parameters and state in one file (see `archive.py`), without pickle."""

from __future__ import annotations

import os
from typing import Any, TypeVar, overload

import numpy as np

from rankloop._utils.arguments import check_type
from rankloop.exceptions import MissingExtraError, ModelError, RankloopError
from rankloop.features.columns import Features
from rankloop.rankers.base import Ranker
from rankloop.rankers.forms import Whole
from rankloop.rankers.model_files.archive import (
    archive_bytes,
    read_archive,
    read_archive_bytes,
    write_archive,
)
from rankloop.rankers.registry import is_known, ranker_class

R = TypeVar("R", bound=Ranker)

_DEEPEST = 20  # depth of rankers inside rankers
_STRANGE = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""The errors that code may raise for values of an unexpected type."""


def save(ranker: Ranker, path: str | os.PathLike[str]) -> None:
    """Write a ranker to one file, completely or not at all; :func:`load` reads it back.

    The ranker may continue to learn in another thread: one state of it is copied first, and then
    written. The file keeps its permissions, a symbolic link stays a symbolic link, and a full disk
    leaves the old file in place.

    >>> import numpy as np, tempfile, pathlib
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.online.slam import Slam
    >>> data = separable(20, np.random.default_rng(0)).data
    >>> ranker = Slam("nDCG@10").fit(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(ranker, pathlib.Path(folder, "slam.rlm"))
    ...     again = load(pathlib.Path(folder, "slam.rlm"))
    >>> again, bool((again.predict(data) == ranker.predict(data)).all())
    (Slam(measure='nDCG@10'), True)
    """
    write_archive(path, _with_version(ranker))


@overload
def load(path: str | os.PathLike[str]) -> Ranker: ...
@overload
def load(path: str | os.PathLike[str], kind: type[R]) -> R: ...
def load(path: str | os.PathLike[str], kind: type[Ranker] = Ranker) -> Ranker:
    """Read a ranker; it ranks and continues to learn exactly as the saved one would.

    Parameters
    ----------
    path : a file that :func:`save` wrote
    kind : the class it must have, such as :class:`OnlineRanker`; type checkers use it as the type
        of the result

    Raises
    ------
    ModelError
        if the file is missing, damaged, of another kind or written by a newer version, or if its
        contents are not a possible state of such a ranker.
    """
    try:
        return _of_kind(_read_ranker(read_archive(path)), kind)
    except ModelError as error:
        where = os.fspath(path)
        raise ModelError(str(error) if where in str(error) else f"{where}: {error}") from None


def dumps(ranker: Ranker) -> bytes:
    """Return the bytes of the file that :func:`save` would write."""
    return archive_bytes(_with_version(ranker))


@overload
def loads(content: bytes) -> Ranker: ...
@overload
def loads(content: bytes, kind: type[R]) -> R: ...
def loads(content: bytes, kind: type[Ranker] = Ranker) -> Ranker:
    """Read a ranker from the bytes that :func:`dumps` returned, as :func:`load` reads a file.

    >>> from rankloop.rankers.online.solar_i import SolarI
    >>> ranker = SolarI().learn([[1.0], [2.0]], [0, 1])
    >>> loads(dumps(ranker)).digest() == ranker.digest()
    True
    """
    return _of_kind(_read_ranker(read_archive_bytes(content)), kind)


def _with_version(ranker: Ranker) -> dict[str, object]:
    check_type("what is saved", ranker, Ranker, "a ranker")
    ranker = ranker.copy()
    return {**to_tree(ranker), "version": ranker.version_, "query_name": ranker.query_name_}


def _read_ranker(tree: Any) -> Ranker:
    ranker = from_tree(tree)
    version = tree.get("version", 0)
    Whole().check("version", version)
    name = tree.get("query_name")
    if not isinstance(name, str | None):
        raise ModelError(f"query_name must be a name or null; found {name!r:.40}")
    ranker.version_, ranker.query_name_ = version, name
    return ranker


def _of_kind(ranker: Ranker, kind: type[Ranker]) -> Ranker:
    check_type("kind", kind, type, "a class of rankers")
    if not isinstance(ranker, kind):
        raise ModelError(
            f"the file contains a {type(ranker).__name__}, but a {kind.__name__} is needed"
        )
    return ranker


def to_tree(ranker: Ranker) -> dict[str, object]:
    """Return one state of a ranker as plain values and arrays, which nothing else shares."""
    ranker = ranker.copy()
    params = ranker.get_params(deep=False)
    return {
        "ranker": type(ranker).__name__,
        "params": {name: _plain(_as_list(v)) for name, v in params.items()},
        "state": {name: _plain(v) for name, v in ranker._state().items()},
    }


def from_tree(tree: object) -> Ranker:
    """Return the ranker that :func:`to_tree` described; raise ModelError for any other tree."""
    try:
        return _ranker(tree, 0)
    except MissingExtraError:
        raise
    except RankloopError as error:
        raise ModelError(str(error)) from None
    except _STRANGE as error:
        raise ModelError(f"its manifest does not describe a ranker: {error!r}") from None


def _ranker(tree: Any, depth: int) -> Ranker:
    if depth > _DEEPEST:
        raise ModelError(
            f"its manifest has rankers inside rankers, more than {_DEEPEST} levels deep"
        )
    name = tree["ranker"]
    if not isinstance(name, str):
        raise ModelError(f"its manifest does not describe a ranker: it names {name!r:.40}")
    if not is_known(name):
        raise ModelError(
            f"the file contains a {name!r}, which is not a known ranker; if it is your own "
            "ranker, first import the module that registers it"
        )
    cls = ranker_class(name)
    params = {key: _restore_value(v, depth) for key, v in tree["params"].items()}
    unknown = params.keys() - cls._parameters().keys()
    if unknown:
        raise ModelError(
            f"its manifest does not describe a ranker: a {name} has no parameter {min(unknown)!r}"
        )
    if any(isinstance(value, np.ndarray) for value in params.values()):
        raise ModelError("its manifest does not describe a ranker: a parameter is an array")
    ranker = cls(**params)
    learnt = {key: _restore_value(v, depth) for key, v in tree["state"].items()}
    if learnt:
        ranker._restore(learnt)
    return ranker


def _plain(value: object) -> object:
    if isinstance(value, Ranker):
        return to_tree(value)
    if isinstance(value, Features):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return str(value) if getattr(value, "reads_back", False) else value


def _as_list(value: object) -> object:
    """Return a parameter in a form that can be read again; only learnt values may be arrays."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _restore_value(value: object, depth: int) -> Any:
    if isinstance(value, dict) and "ranker" in value:
        return _ranker(value, depth + 1)
    return [_restore_value(item, depth) for item in value] if isinstance(value, list) else value
