"""Saving and loading learners: parameters and what was learnt, in one file, without pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankloop.data.archive import read_archive, write_archive
from rankloop.exceptions import ModelError
from rankloop.learners.estimator import Estimator
from rankloop.learners.registry import CLASSES, learner_class
from rankloop.metrics.measures import Measure

if TYPE_CHECKING:
    import os

    from rankloop.learners.base import OnlineRanker


def save(learner: OnlineRanker, path: str | os.PathLike[str]) -> None:
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


def load(path: str | os.PathLike[str]) -> OnlineRanker:
    """Read a learner; it ranks, and goes on learning, exactly as the one that was saved."""
    try:
        return from_tree(read_archive(path))
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path}: its manifest is not that of a learner ({error!r})") from None


def to_tree(learner: OnlineRanker) -> dict[str, Any]:
    """Return a learner as plain values and arrays."""
    return {
        "learner": type(learner).__name__,
        "params": {name: _plain(v) for name, v in learner.get_params(deep=False).items()},
        "learnt": {name: _plain(v) for name, v in learner.learnt().items()},
    }


def from_tree(tree: dict[str, Any]) -> OnlineRanker:
    """Return the learner that :func:`to_tree` told of."""
    name = tree["learner"]
    if name not in CLASSES:
        raise ModelError(f"the file holds a {name!r}, which this version does not know")
    learner = learner_class(name)(**{key: _restored(v) for key, v in tree["params"].items()})
    for attribute, value in tree["learnt"].items():
        setattr(learner, attribute, _restored(value))
    return learner


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
