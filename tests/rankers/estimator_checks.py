"""scikit-learn's own checks of estimators: which run, and the few that cannot hold for ranking."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from rankloop import QueryDataset
from rankloop.data.transformer import Transformer
from rankloop.rankers.predtron.estimators import PredtronClassifier, PredtronOrdinal
from rankloop.rankers.registry import make_ranker

from .small import EVERY, FEWER

SUBSETS = "check_methods_subset_invariance"
WEIGHTED = "check_sample_weights_not_overwritten"
AS_COPIES = "check_sample_weight_equivalence_on_dense_data"

# Which checks cannot hold, for which estimators, and why. Each must fail: one that passes has to
# leave the list.
EXPECTED = [
    (
        [SUBSETS],
        [
            "stacked",
            "mix",
            "auto",
            "adaptive",
            "blend",
            "keeprank",
            "online-keeprank",
        ],
        "a score is relative to the other documents of the query",
    ),
    (
        [AS_COPIES],
        ["dbgd", "mgd"],
        "rankers are compared by nDCG, which knows no weights of documents",
    ),
    (
        [WEIGHTED, AS_COPIES],
        ["adarank", "coordinate-ascent", "single-feature", "lambdamart", "yetirank"],
        "a measure of whole rankings knows no weights of documents, which are refused",
    ),
    (
        [WEIGHTED, AS_COPIES],
        ["predtron", "kernel-predtron"],
        "it learns from whole rankings, which know no weights of documents: they are refused",
    ),
    (
        [AS_COPIES],
        ["slam", "minimax", "perceptron", "kernel-slam", "kernel-minimax"],
        "a weight makes a step larger, where a copy takes a place in the ranking",
    ),
    (
        [AS_COPIES],
        [
            "pairwise",
            "committee",
            "prank",
            "solar-i",
            "kernel-solar-i",
            "keeprank",
            "online-keeprank",
        ],
        "it learns by one document or pair after the other, and copies come at another time",
    ),
    (
        [AS_COPIES],
        ["mix", "auto"],
        "ranks, means and deviations inside a query are of its documents, copies among them",
    ),
    (
        [AS_COPIES],
        ["lifted"],
        "scales, medians and landmarks of features are of all documents, copies among them",
    ),
    (
        [AS_COPIES],
        ["loss-boost", "listnet-boost", "xendcg-boost", "blend", "stacked"],
        "bins of features and leaves of trees count documents, copies among them",
    ),
    (
        ["check_class_weight_classifiers"],
        ["predtron-classifier"],
        "a weight is the cost of a mistake, where a copy is one more row",
    ),
]

NOT_RUN = {"check_array_api_input"}  # it needs SCIPY_ARRAY_API=1 before SciPy is imported
SAME_AGAIN = {"check_sample_weight_equivalence_on_sparse_data": AS_COPIES}  # one failure is enough


def reason_to_fail(name, check):
    """Why a check of this estimator must fail, or None."""
    return next((why for checks, names, why in EXPECTED if check in checks and name in names), None)


def one_query(cls):
    """Return a class of rankers or transformers whose rows without query ids form one query.

    The checks know nothing of queries. This is the only place where they learn of them.
    """

    def with_queries(method):
        @functools.wraps(method)  # the checks look at its signature
        def call(self, X, y=None, **options):
            if (
                y is not None
                and not isinstance(X, QueryDataset)
                and not {"qid", "group"} & {*options}
            ):
                options["group"] = [len(np.asarray(y))]
            return method(self, X, y, **options)

        return call

    def with_queries_if_needed(method, name):
        @functools.wraps(method)
        def call(self, X, **options):
            traits = getattr(self, "traits", None)  # of rankers; transformers say it themselves
            whole = self.needs_queries if traits is None else not traits.scores_rows_alone
            unknown = options.get("qid") is None and options.get("group") is None
            if whole and unknown and not isinstance(X, QueryDataset):
                n = (X if hasattr(X, "shape") else np.asarray(X)).shape[0]
                options |= {"group": [n]} if name == "predict" else {"qid": np.zeros(n, int)}
            return method(self, X, **options)

        return call

    learning = [] if issubclass(cls, Transformer) else ["fit", "partial_fit", "score"]
    methods = {name: with_queries(getattr(cls, name)) for name in learning if hasattr(cls, name)}
    for name in ("predict", "transform"):
        if hasattr(cls, name):
            methods[name] = with_queries_if_needed(getattr(cls, name), name)
    adapted = type(f"{cls.__name__}OfOneQuery", (cls,), {**methods, "__module__": __name__})
    globals()[adapted.__name__] = adapted  # pickle looks for it here
    return adapted


ESTIMATORS = {
    **{name: one_query(type(make_ranker(name))) for name in EVERY},
    "predtron-classifier": PredtronClassifier,
    "predtron-ordinal": PredtronOrdinal,
}


def every_check():
    """Give each check of each estimator as parameters of a test: both, and why it must fail."""
    for name, cls in ESTIMATORS.items():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*does not inherit from `sklearn.base.BaseEst")
            found = list(estimator_checks_generator(cls(**FEWER.get(name, {}))))
        for estimator, check in found:
            what = getattr(check, "func", check).__name__
            if what in NOT_RUN or reason_to_fail(name, SAME_AGAIN.get(what)):
                continue
            why = reason_to_fail(name, what)
            yield pytest.param(estimator, check, why, id=f"{name}-{what}")
