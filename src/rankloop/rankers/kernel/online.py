"""SLAM, the minimax perceptron and SOLAR-I with kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop.rankers.kernel.ranker import KernelRanker
from rankloop.rankers.kernel.text import parse_kernel
from rankloop.rankers.online.minimax import MinimaxPerceptron
from rankloop.rankers.online.slam import Slam
from rankloop.rankers.parameters import check_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Rows
    from rankloop.rankers.kernel.kernels import Kernel
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.online.linear import LinearRanker

    Floats = NDArray[np.float64]


class KernelSlam(KernelRanker):
    """SLAM in the space of a kernel, on a memory budget.

    On a query whose ranking is not perfect, each document is added with its coefficient of the
    step, -rate times the subgradient in its score; see :class:`rankloop.Slam`. With the linear
    kernel and no budget it is that ranker.

    Parameters
    ----------
    kernel, budget, removal : see :class:`KernelRanker`
    measure, rate, decay, margin : see :class:`rankloop.Slam`
    average, passes, random_state : see :class:`KernelRanker`

    Notes
    -----
    Cost: O(m B d) per query of m documents with B held, and O(B d) memory, taken at the start. In
    several passes a document may be held more than once.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.measures.evaluation import evaluate
    >>> data = separable(100, np.random.default_rng(0), n_features=3).data
    >>> ranker = KernelSlam("rbf(1)", budget=200).fit(data)
    >>> len(ranker.support_), evaluate(data, ranker.predict(data), "nDCG@10")["nDCG@10"] > 0.9
    (200, True)

    References
    ----------
    Chaudhuri and Tewari, Perceptron-like algorithms for online learning to rank: Algorithm 2 and
    its conclusion, which asks for this.
    """

    def __init__(
        self,
        kernel: str | Kernel = "rbf(1)",
        measure: str | Measure = "nDCG",
        rate: float = 0.01,
        decay: float = 0.0,
        margin: float = 1.0,
        budget: int | None = 1000,
        removal: str = "projection",
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.measure = measure
        self.rate = rate
        self.decay = decay
        self.margin = margin
        self.budget = budget
        self.removal = removal
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _linear(self) -> Slam:
        return Slam(self.measure, self.rate, self.decay, self.margin)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._linear()._check_changed_parameters()

    def _steps(self, query: Queries, scores: Rows, seen: int) -> Floats:
        return steps_of(self._linear(), query, scores, seen)


class KernelMinimax(KernelRanker):
    """The minimax perceptron in the space of a kernel, on a memory budget.

    A query whose ranking is not perfect adds two documents: those of the pair that violates its
    order most, with coefficients rate and -rate; see :class:`rankloop.rankers.MinimaxPerceptron`.

    Parameters
    ----------
    kernel, budget, removal : see :class:`KernelRanker`
    rate, decay : see :class:`rankloop.rankers.MinimaxPerceptron`
    average, passes, random_state : see :class:`KernelRanker`

    Notes
    -----
    Cost: O(m B d) per query of m documents with B held, and O(B d) memory, taken at the start.

    References
    ----------
    Chaudhuri and Tewari, Perceptron-like algorithms for online learning to rank: Algorithm 3.
    """

    def __init__(
        self,
        kernel: str | Kernel = "rbf(1)",
        rate: float = 1.0,
        decay: float = 0.0,
        budget: int | None = 1000,
        removal: str = "projection",
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.rate = rate
        self.decay = decay
        self.budget = budget
        self.removal = removal
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _linear(self) -> MinimaxPerceptron:
        return MinimaxPerceptron(self.rate, self.decay)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._linear()._check_changed_parameters()

    def _steps(self, query: Queries, scores: Rows, seen: int) -> Floats:
        return steps_of(self._linear(), query, scores, seen)


class KernelSolarI(KernelRanker):
    """First-order SOLAR in the space of a kernel, on a memory budget.

    Pair after pair as in :class:`rankloop.SolarI`, where |delta|^2 and the change of scores come
    from the kernels of the query's documents with each other.

    Parameters
    ----------
    kernel, budget, removal : see :class:`KernelRanker`
    C : limits the step of a pair, above 0
    average, passes, random_state : see :class:`KernelRanker`

    Notes
    -----
    Cost: O(m B d + m^2 d) per query of m documents with B held, and O(m) per violated pair. Memory
    O(B d + m^2). Nearly every document of a query is added, so a budget fills soon.

    References
    ----------
    Wang et al., SOLAR: scalable online learning algorithms for ranking (2015), eq. 4-6.
    """

    def __init__(
        self,
        kernel: str | Kernel = "rbf(1)",
        C: float = 1e-5,
        budget: int | None = 1000,
        removal: str = "projection",
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.budget = budget
        self.removal = removal
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("C", self.C, above=True)

    def _steps(self, query: Queries, scores: Rows, seen: int) -> Floats:  # noqa: ARG002
        steps = np.zeros(len(query.y))
        weight = 1.0 if query.query_weight is None else float(query.query_weight[0])
        if len(query.y) and weight > 0:
            K = parse_kernel(self.kernel)(query.X, query.X)
            K -= K[0].copy()  # differences stay, and are small
            K -= K[:, :1].copy()
            y = query.y
            if query.sample_weight is not None:
                y = np.where(query.sample_weight > 0, y, -1.0)
            _core.solar_steps(K, scores, y, query.sample_weight, weight, steps, 0.5 / self.C)
        return steps


def steps_of(linear: LinearRanker, query: Queries, scores: Rows, seen: int) -> Floats:
    """Return the step of a linear ranker if document i is the i-th unit vector.

    Its weights are then scores, and its step is the coefficient of each document.
    """
    m = len(query.y)
    units = query._replace(X=np.eye(m, dtype=np.float32))
    weights = scores.astype(np.float64)
    arrays = {"last_weights_": weights, "sizes_": np.zeros(2)}
    linear._learn((*units, weights, None, seen, None), arrays)
    return np.asarray(weights - scores)
