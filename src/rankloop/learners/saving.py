"""Saving and loading learners: parameters and what was learnt, in one file, without pickle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import MissingExtraError, ModelError, RankloopError
from rankloop.learners.archive import read_archive, write_archive
from rankloop.learners.estimator import Estimator
from rankloop.learners.kernel.kernels import Kernel
from rankloop.learners.registry import CLASSES, learner_class
from rankloop.metrics.measures import Measure

if TYPE_CHECKING:
    from rankloop.learners.base import Ranker

_DEEPEST = 20  # learners in learners
_STRANGE = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""What values of a kind that nobody expected make code raise."""


def save(learner: Ranker, path: str | os.PathLike[str]) -> None:
    """Write a learner to one file, whole or not at all; :func:`load` gives the same learner back.

    It may go on learning in another thread: what is written is one state of it, copied first. The
    file keeps its permissions, a symbolic link stays one, and a full disk leaves the old file.

    >>> import numpy as np, tempfile, pathlib
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.learners.online.slam import Slam
    >>> data = separable(20, np.random.default_rng(0)).data
    >>> ranker = Slam("nDCG@10").fit(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(ranker, pathlib.Path(folder, "slam.rlm"))
    ...     again = load(pathlib.Path(folder, "slam.rlm"))
    >>> again, bool((again.predict(data) == ranker.predict(data)).all())
    (Slam(measure='nDCG@10'), True)
    """
    write_archive(path, to_tree(learner))


def load(path: str | os.PathLike[str]) -> Ranker:
    """Read a learner; it ranks, and goes on learning, exactly as the one that was saved.

    Raises
    ------
    ModelError
        where the file is missing, damaged, of another kind or written by a newer version, or where
        what it holds cannot be what such a learner has learnt.
    """
    tree = read_archive(path)
    try:
        return from_tree(tree)
    except ModelError as error:
        raise ModelError(f"{os.fspath(path)}: {error}") from None


def to_tree(learner: Ranker) -> dict[str, Any]:
    """Return a learner as plain values and arrays: one state of it, shared with nobody."""
    learner = learner._twin()
    params = learner.get_params(deep=False)
    return {
        "learner": type(learner).__name__,
        "params": {name: _plain(_listed(v)) for name, v in params.items()},
        "learnt": {name: _plain(v) for name, v in learner.learnt().items()},
    }


def from_tree(tree: Any) -> Ranker:
    """Return the learner that :func:`to_tree` told of; raise ModelError where it told of none."""
    try:
        return _learner(tree, 0)
    except MissingExtraError:
        raise
    except RankloopError as error:
        raise ModelError(str(error)) from None
    except _STRANGE as error:
        raise ModelError(f"its manifest is not that of a learner: {error!r}") from None


def _learner(tree: Any, depth: int) -> Ranker:
    if depth > _DEEPEST:
        raise ModelError(f"its manifest has learners in learners, more than {_DEEPEST} deep")
    name = tree["learner"]
    if name not in CLASSES:
        raise ModelError(f"the file holds a {name!r}, which this version does not know")
    cls = learner_class(name)
    params = {key: _restored(v, depth) for key, v in tree["params"].items()}
    unknown = params.keys() - cls.parameters().keys()
    if unknown:
        raise ModelError(
            f"its manifest is not that of a learner: a {name} has no parameter {min(unknown)!r}"
        )
    if any(isinstance(value, np.ndarray) for value in params.values()):
        raise ModelError("its manifest is not that of a learner: a parameter is an array")
    learner = cls(**params)
    learnt = {key: _restored(v, depth) for key, v in tree["learnt"].items()}
    if learnt:
        learner._take_over(learnt)
    return learner


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Estimator):
        return to_tree(value)  # type: ignore[arg-type]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return str(value) if isinstance(value, Measure | Kernel) else value


def _listed(value: Any) -> Any:
    """Return a parameter as it can be read again: no array, which only what was learnt may be."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _restored(value: Any, depth: int) -> Any:
    if isinstance(value, dict) and "learner" in value:
        return _learner(value, depth + 1)
    return [_restored(item, depth) for item in value] if isinstance(value, list) else value
