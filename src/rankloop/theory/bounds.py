"""The loss bounds of the papers; each module says what was corrected and why.

>>> import numpy as np
>>> from rankloop.data.simulate import separable
>>> from rankloop.theory.margin import separating_weights
>>> data = separable(50, np.random.default_rng(0)).data
>>> bound = minimax_bound(data, separating_weights(data))
>>> bound.name, bound.holds
('Theorem 10', True)
"""

from __future__ import annotations

from rankloop.theory.perceptron import (
    gradient_bound,
    minimax_bound,
    ogd_regret_bound,
    slam_any_rate_bound,
    slam_bound,
    slam_cutoff_bound,
)
from rankloop.theory.result import Assumption, Bound
from rankloop.theory.solar import (
    pair_constant,
    ranking_constant,
    solar_i_bound,
    solar_i_measure_bound,
    solar_ii_bound,
    solar_ii_measure_bound,
    update_bound,
)

__all__ = [
    "Assumption",
    "Bound",
    "gradient_bound",
    "minimax_bound",
    "ogd_regret_bound",
    "pair_constant",
    "ranking_constant",
    "slam_any_rate_bound",
    "slam_bound",
    "slam_cutoff_bound",
    "solar_i_bound",
    "solar_i_measure_bound",
    "solar_ii_bound",
    "solar_ii_measure_bound",
    "update_bound",
]
