"""KeepRank: a kernel perceptron trained by relaxation with a margin."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from rankloop.data.memory import parse_size
from rankloop.data.scaling import QueryMinMax
from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.batch.base import BatchRanker
from rankloop.rankers.explaining import support_parts
from rankloop.rankers.forms import Array, FiniteNumber
from rankloop.rankers.kernel.blocks import kernel_blocks
from rankloop.rankers.kernel.relaxation import Samples, one_pass, relax_rows
from rankloop.rankers.kernel.text import parse_kernel
from rankloop.rankers.parameters import check_number, check_whole
from rankloop.rankers.search import OneOf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Grades, Offsets, Rows, Scores
    from rankloop.rankers.forms import Form
    from rankloop.rankers.kernel.kernels import Kernel
    from rankloop.rankers.search import Search
    from rankloop.rankers.traits import Traits

    Floats = NDArray[np.float64]
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.state import State

TARGETS = ("binary", "graded")
BLOCK = 64  # samples at a time: enough for matrix products, few enough for a small Gram matrix


class KeepRank(BatchRanker):
    """A kernel perceptron whose scores are moved beyond a margin.

    f(x) = sum_k alpha_k K(x_k, x) over the training documents. With k(x) the vector of kernels of x
    with all of them, a document with y f(x) < c costs (c - y f(x))^2 / (2 |k(x)|^2), and one step

        alpha += rate (c - y f(x)) y k(x) / |k(x)|^2

    brings its score to y c (for a rate of 1). Grades above 0 have y = 1, others -1 (`binary`, as
    published). With `graded` targets the highest grade has the target f(x) >= c, the lowest
    f(x) <= -c, and a grade R between them f(x) = c (2 (R - low) / (high - low) - 1).

    Where we depart: the last coefficients depend much on the last documents, so it ranks by their
    mean after each document (`average`); documents are taken in random order.

    Parameters
    ----------
    kernel : `rbf(sigma2)`, `poly(degree)`, `linear`, `chi2(gamma)`, sums and products of them
    targets : `binary` or `graded`
    margin : c, above 0; scores scale with it and rankings do not depend on it
    rate : share of a step that is taken, above 0 and at most 1
    passes : maximum number of passes over the data, at least 1
    tolerance : stop when the criterion of a pass is at most this per document, at least 0
    average : whether to rank by the mean of the coefficients instead of the last ones
    normalise : whether to scale features to 0..1 within each query, in training and in ranking
    memory_limit : the kernel matrix is stored only if it fits; otherwise each pass computes it
        again
    random_state : random seed of the order of documents; None: as given
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`; a round is a pass. With
        `warm_start`, the model keeps its documents, and other data add to them.

    Attributes
    ----------
    support_ : (n, d) training documents, in the order they were learnt from
    coefficients_ : (n,) alpha, times the weights of documents

    Notes
    -----
    Cost: O(n^2 d) per pass, or O(n^2) where the kernel matrix is held, for n documents; O(n d) a
    document to rank. Memory: the limit, or blocks of 64 n numbers. It does not scale beyond some
    100,000 documents: use `nystrom` features for more. Because features are scaled within queries,
    it needs to know which rows belong together when it ranks.

    Why not pairs: separating every pair of a query by the margin, one after the other, reached a
    MAP of at most .31 on OHSUMED, where these targets reach .45. Softer steps on pairs are those of
    :class:`rankloop.rankers.KernelSolarI`.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.measures.evaluation import evaluate
    >>> data = separable(60, np.random.default_rng(0)).data
    >>> ranker = KeepRank(kernel="rbf(1)").fit(data)
    >>> evaluate(data, ranker.predict(data), "AP")["AP"] > 0.9
    True

    References
    ----------
    Chen, Wang and Lin, Learning to rank with a novel kernel perceptron method (2009): eq. 10-15.
    """

    traits: ClassVar[Traits] = replace(
        BatchRanker.traits, scores_rows_alone=False
    )  # features are scaled inside queries
    _learns: ClassVar[tuple[str, ...]] = ("support_", "counts_", "last_", "total_", "steps_")
    search_space: ClassVar[Mapping[str, Search]] = {
        "kernel": OneOf(tuple(f"rbf({s})" for s in (0.25, 0.35, 0.5, 1, 5, 10))),
        "targets": OneOf(("graded", "binary")),
    }

    def __init__(
        self,
        kernel: str | Kernel = "rbf(1)",
        targets: Literal["binary", "graded"] = "graded",
        margin: float = 1.0,
        rate: float = 1.0,
        passes: int = 6,
        tolerance: float = 0.0,
        average: bool = True,
        normalise: bool = True,
        memory_limit: int | str = "1GB",
        valid_measure: str | Measure = "AP",
        patience: int | None = 3,
        warm_start: bool = False,
        refit: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.kernel = kernel
        self.targets = targets
        self.margin = margin
        self.rate = rate
        self.passes = passes
        self.tolerance = tolerance
        self.average = average
        self.normalise = normalise
        self.memory_limit = memory_limit
        self.valid_measure = valid_measure
        self.patience = patience
        self.warm_start = warm_start
        self.refit = refit
        self.random_state = random_state

    support_: Rows
    counts_: Floats
    last_: Floats
    total_: Floats
    steps_: float

    @property
    def coefficients_(self) -> Floats:
        """The coefficient of each document."""
        self._check_fitted()
        mean = self.average and self.steps_ > 0
        return np.asarray((self.total_ / self.steps_ if mean else self.last_) * self.counts_)

    def _check(self, data: QueryDataset) -> None:
        kernel = parse_kernel(self.kernel)
        if self.targets not in TARGETS:
            raise DataError(f"targets must be {' or '.join(TARGETS)}; found {self.targets!r}")
        check_number("margin", self.margin, above=True)
        check_number("rate", self.rate, 0, 1, above=True)
        check_whole("passes", self.passes)
        check_number("tolerance", self.tolerance)
        parse_size(self.memory_limit)
        kernel.check_rows(self._scale_rows(data.X, data.offsets))

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "support_": Array((None, n_features), np.float32),
            "counts_": Array((None,), low=0),
            "last_": Array((None,)),
            "total_": Array((None,)),
            "steps_": FiniteNumber(),
        }

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        parts = [state[name] for name in ("support_", "counts_", "last_", "total_")]
        if len({len(part) for part in parts}) > 1:
            raise ModelError("support_, counts_, last_ and total_ differ in length")
        parse_kernel(self.kernel).check_rows(state["support_"])

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.support_ = np.zeros((0, n_features), np.float32)
        self.counts_, self.last_, self.total_ = np.zeros(0), np.zeros(0), np.zeros(0)
        self.steps_ = 0.0

    def _scale_rows(self, X: Rows, offsets: Offsets) -> Rows:
        return QueryMinMax().transform_rows(X, offsets) if self.normalise else X

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        X, y, counts = self._in_order(data)
        self._hold(X, counts)
        limit = parse_size(self.memory_limit)
        samples = Samples(parse_kernel(self.kernel), X, self.support_, self.counts_, limit)
        low, high = bounds(y, self.margin, graded=self.targets == "graded")
        steps = partial(relax_rows, low=low, high=high, counts=counts, rate=self.rate)
        blocks = [slice(first, first + BLOCK) for first in range(0, len(X), BLOCK)]
        for _ in range(self.passes):
            last, total = self.last_.copy(), self.total_.copy()
            seen, lost = one_pass(samples, blocks, steps, last, total)
            self.last_, self.total_ = last, total
            self.steps_ += seen
            objective = lost / max(len(X), 1)
            yield objective
            if objective <= self.tolerance:
                return

    def _in_order(self, data: QueryDataset) -> tuple[Rows, Grades, Floats]:
        """Return scaled rows, grades and counts, in the order of learning."""
        counts = np.ones(data.n_documents)
        if data.sample_weight is not None:
            counts *= data.sample_weight
        if data.query_weight is not None:
            counts *= np.repeat(data.query_weight, data.sizes)
        X, y = self._scale_rows(data.X, data.offsets), data.y
        if self.random_state is None:
            return X, y, counts
        order = np.random.default_rng(self.random_state).permutation(len(X))
        return X[order], y[order], counts[order]

    def _hold(self, X: Rows, counts: Floats) -> None:
        """Add places for the coefficients of these rows, unless they exist already."""
        if np.array_equal(X, self.support_) and np.array_equal(counts, self.counts_):
            return
        room = np.zeros(len(X))
        self.support_ = np.vstack([self.support_, X])
        self.counts_ = np.r_[self.counts_, counts]
        self.last_, self.total_ = np.r_[self.last_, room], np.r_[self.total_, room]

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        X = self._scale_rows(X, offsets)
        kernel, coefficients = parse_kernel(self.kernel), self.coefficients_.astype(np.float32)
        scores = np.zeros(len(X), np.float32)
        for rows in kernel_blocks(len(X), len(self.support_)):
            scores[rows] = kernel(X[rows], self.support_) @ coefficients
        return scores

    def explain(self) -> Parts:
        """Return the documents with the largest coefficients, with their features."""
        return support_parts(self, self.support_, self.coefficients_)


def bounds(y: Grades, margin: float, *, graded: bool) -> tuple[Floats, Floats]:
    """Return the lowest and the highest score that each grade may have.

    >>> bounds(np.array([0.0, 1.0, 2.0]), 1.0, graded=True)
    (array([-inf,   0.,   1.]), array([-1.,  0., inf]))
    """
    top, bottom = y == y.max(initial=0), y == y.min(initial=np.inf)
    if not graded:
        top, bottom = y > 0, y <= 0
    span = np.ptp(y) if len(y) else 1.0
    place = margin * (2 * (y - y.min(initial=np.inf)) / max(span, 1e-300) - 1)
    low = np.where(top, margin, np.where(bottom, -np.inf, place))
    return low, np.where(bottom, -margin, np.where(top, np.inf, place))
