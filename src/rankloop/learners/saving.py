"""Saving and loading learners: parameters and what was learnt, in one file, without pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import ModelError
from rankloop.learners.archive import read_archive, write_archive
from rankloop.learners.estimator import Estimator
from rankloop.learners.registry import CLASSES, learner_class
from rankloop.metrics.measures import Measure

if TYPE_CHECKING:
    import os

    from rankloop.learners.base import Ranker


def save(learner: Ranker, path: str | os.PathLike[str]) -> None:
    """Write a learner to one file, whole or not at all; :func:`load` gives the same learner back.

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
    """Read a learner; it ranks, and goes on learning, exactly as the one that was saved."""
    tree = read_archive(path)
    try:
        return from_tree(tree)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: its manifest is not that of a learner: {error}") from None


def to_tree(learner: Ranker) -> dict[str, Any]:
    """Return a learner as plain values and arrays."""
    return {
        "learner": type(learner).__name__,
        "params": {name: _plain(v) for name, v in learner.get_params(deep=False).items()},
        "learnt": {name: _plain(v) for name, v in learner.learnt().items()},
    }


def from_tree(tree: dict[str, Any]) -> Ranker:
    """Return the learner that :func:`to_tree` told of."""
    name = tree["learner"]
    if name not in CLASSES:
        raise ModelError(f"the file holds a {name!r}, which this version does not know")
    learner = learner_class(name)(**{key: _restored(v) for key, v in tree["params"].items()})
    learnt = {key: _restored(v) for key, v in tree["learnt"].items()}
    if learnt:
        _check_learnt(learner, learnt)
        for attribute, value in learnt.items():
            setattr(learner, attribute, value)
    return learner


def _check_learnt(learner: Ranker, learnt: dict[str, Any]) -> None:
    """Raise unless what was learnt has the names and shapes that such a learner starts with."""
    n_features = learnt.get("n_features_in_")
    if not isinstance(n_features, int) or not 0 <= n_features < 2**24:
        raise ModelError(f"the file says that there are {n_features!r} features")
    learner._reset(n_features)
    for name, start in learner.learnt().items():
        grows = name in learner.growing
        if name not in learnt or _shape(learnt[name], grows) != _shape(start, grows):
            raise ModelError(f"{name} of the {type(learner).__name__} is missing or misshapen")
    unknown = set(learnt) - set(learner.learnt())
    if unknown:
        raise ModelError(f"a {type(learner).__name__} does not learn {sorted(unknown)[0]!r}")


def _shape(value: Any, grows: bool = False) -> Any:
    """Tell what an array, a list or anything else looks like from outside."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape[1:] if grows else value.shape
    if isinstance(value, list | tuple):
        return list if grows else [_shape(item) for item in value]
    return type(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Estimator):
        return to_tree(value)  # type: ignore[arg-type]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Measure) else value


def _restored(value: Any) -> Any:
    if isinstance(value, dict) and "learner" in value:
        return from_tree(value)
    return [_restored(item) for item in value] if isinstance(value, list) else value
