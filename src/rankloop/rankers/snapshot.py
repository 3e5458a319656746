"""A snapshot of a model at one moment: it ranks, and never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from rankloop.feedback.ranking import Ranking
    from rankloop.rankers.base import Ranker, Scores
    from rankloop.rankers.explaining import Parts


class Snapshot:
    """The state of a ranker at one moment; use it to rank while the ranker continues to learn.

    Making one takes a microsecond: it shares the ranker's arrays, which learning replaces and never
    changes in place.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.rankers.online.solar_i import SolarI
    >>> ranker = SolarI().learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> before = ranker.snapshot()
    >>> _ = ranker.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    >>> before.version, ranker.version_
    (1, 2)
    >>> bool(np.array_equal(before.predict([[1.0, 0.0]]), ranker.predict([[1.0, 0.0]])))
    False
    """

    __slots__ = ("_model",)
    _model: Ranker

    def __init__(self, ranker: Ranker) -> None:
        object.__setattr__(self, "_model", ranker.fork())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a snapshot never changes; cannot set {name!r}")

    def __repr__(self) -> str:
        return f"Snapshot({self._model!r}, version {self.version})"

    @property
    def version(self) -> int:
        """The version of the ranker when it was taken."""
        return self._model.version_

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._model.n_features_in_

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features; empty if the training data had no names."""
        return self._model.feature_names_in_

    def predict(
        self, X: object, *, qid: ArrayLike | None = None, group: ArrayLike | None = None
    ) -> Scores:
        """Score documents, as :meth:`Ranker.predict` did."""
        return self._model.predict(X, qid=qid, group=group)

    def rank(self, query: object, *, id: str | None = None) -> Ranking:  # noqa: A002
        """Rank the documents of one query, as :meth:`Ranker.rank` did."""
        return self._model.rank(query, id=id)

    def explain(self) -> Parts:
        """Return the parts of the model, as :meth:`Ranker.explain` did."""
        return self._model.explain()

    def contributions(self, X: object) -> NDArray[np.float64]:
        """Return what each feature adds, as :meth:`Ranker.contributions` did."""
        return self._model.contributions(X)

    def digest(self) -> str:
        """Return a digest of the parameters and of every bit that was learnt."""
        return self._model.digest()

    def dumps(self) -> bytes:
        """Return the model as the bytes of a file."""
        return self._model.dumps()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file."""
        self._model.save(path)

    def thaw(self) -> Ranker:
        """Return a ranker that continues to learn from this state; the snapshot does not change."""
        return self._model.fork()
