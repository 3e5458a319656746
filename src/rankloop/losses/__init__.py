"""Losses of one query, in plain NumPy: what the learners minimise, written as in the papers.

Each has `value(scores, grades)` and `gradient(scores, grades)`, and says whether it is `smooth` and
`convex`. Grades below 0 are unjudged and take no part; a query without pairs to order costs 0
(except for :class:`ListNetLoss`, whose entropy remains). :mod:`rankloop.losses.whole` has some of
them compiled, for all queries of a data set at once.

>>> import numpy as np
>>> SlamLoss("AP").value(np.array([0.5, 0.0]), np.array([0.0, 1.0]))
1.5
"""

from rankloop.losses.base import QueryLoss
from rankloop.losses.fidelity import Fidelity
from rankloop.losses.listnet import ListNetLoss
from rankloop.losses.maxpair import MaxPairLoss
from rankloop.losses.pairwise import PairwiseHinge, PairwiseLogistic
from rankloop.losses.slam import SlamLoss
from rankloop.losses.xendcg import XENDCGLoss

__all__ = [
    "Fidelity",
    "ListNetLoss",
    "MaxPairLoss",
    "PairwiseHinge",
    "PairwiseLogistic",
    "QueryLoss",
    "SlamLoss",
    "XENDCGLoss",
]
