"""A ranking measure as a value for scikit-learn's `scoring=`."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import as_ids
from rankloop.exceptions import DataError, LeakWarning
from rankloop.measures.conventions import Convention, as_convention
from rankloop.measures.evaluation import evaluate
from rankloop.measures.measure import Measure, parse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.utils.metadata_routing import MetadataRequest


class Scorer:
    """A measure for `scoring=`; it is called with an estimator, features, grades and query ids.

    Parameters
    ----------
    measure : see :mod:`rankloop.measures.measure`
    convention : a name or a :class:`Convention`
    seed : random seed of the shuffle. Documents are shuffled before they are measured, so that the
        result for tied scores does not depend on the order of the rows.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.online.solar_ii import SolarII
    >>> data = separable(50, np.random.default_rng(0)).data
    >>> Scorer("nDCG@10")(SolarII().fit(data), data.X, data.y, qid=data.qid) > 0.99
    True
    """

    def __init__(
        self,
        measure: str | Measure = "nDCG@10",
        convention: str | Convention = "standard",
        seed: int = 0,
    ) -> None:
        self.measure = parse(measure)
        self.convention = as_convention(convention)
        self.seed = seed

    def __call__(
        self, estimator: Any, X: object, y: ArrayLike, *, qid: ArrayLike | None = None
    ) -> float:
        """Rank the rows of each query by the estimator's predictions, and measure the rankings."""
        if qid is None:
            raise DataError(
                f"{self!r} received no query ids; switch metadata routing on with "
                "sklearn.set_config(enable_metadata_routing=True), and pass qid= (in params= of "
                "cross_validate, or in fit of a search)"
            )
        _warn_of_leaks(estimator, qid)
        known = {"qid": qid} if _takes_qid(estimator) else {}
        scores = np.asarray(estimator.predict(X, **known))
        data = QueryDataset.from_arrays(np.zeros((len(scores), 0), np.float32), y, qid=qid)
        mixed = data.shuffle(np.random.default_rng(self.seed))
        values = mixed.from_row_order(data.from_row_order(scores))
        return float(evaluate(mixed, values, self.measure, self.convention)[self.measure])

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn that scoring needs `qid`; only scikit-learn calls this."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = getattr(self, "_metadata_request", None)
        if request is None:
            request = MetadataRequest(owner=self)
            request.score.add_request(param="qid", alias=True)
        return copy.deepcopy(request)

    def set_score_request(self, **wanted: object) -> Self:
        """Choose the name under which `qid` is passed, for example `qid="queries"`."""
        request = self.get_metadata_routing()
        for name, alias in wanted.items():
            request.score.add_request(param=name, alias=alias)
        self._metadata_request = request
        return self

    def __repr__(self) -> str:
        return f"Scorer({str(self.measure)!r}, convention={self.convention.name!r})"


def scorer(
    measure: str | Measure = "nDCG@10",
    convention: str | Convention = "standard",
    *,
    seed: int = 0,
) -> Scorer:
    """Return a measure as a value for scikit-learn's `scoring=`; higher is better.

    >>> scorer("AP", convention="letor3")
    Scorer('AP', convention='letor3')
    """
    return Scorer(measure, convention, seed)


def _takes_qid(estimator: object) -> bool:
    """Return whether `predict` takes query ids; for a pipeline, the last step decides."""
    return "qid" in inspect.signature(_last_step(estimator).predict).parameters


def _last_step(estimator: Any) -> Any:
    while isinstance(
        getattr(estimator, "steps", None), list
    ):  # `steps` of Newton rankers is a number
        estimator = estimator.steps[-1][1]
    return estimator


def _warn_of_leaks(estimator: object, qid: ArrayLike) -> None:
    """Warn if rows of one query are in both the training and the test part."""
    known = getattr(_last_step(estimator), "_trained_on", None)
    ids, rows = known or (np.zeros(0), 0)
    here = as_ids(np.asarray(qid), "qid")
    if rows == len(here) or ids.dtype != here.dtype:  # the training set itself, or unknown
        return
    shared = int(np.isin(np.unique(here), ids).sum())
    if shared:
        warnings.warn(
            f"{shared:,} queries have rows both in the training and in the test part, so the "
            "measured quality is too good; split by query: cv=QueryKFold(), with groups=qid",
            LeakWarning,
            stacklevel=3,
        )
