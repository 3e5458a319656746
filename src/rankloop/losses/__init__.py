"""Losses of one query in plain NumPy, written as in the papers; the rankers minimise them.

Each has `value(scores, grades)` and `gradient(scores, grades)`, and says whether it is `smooth` and
`convex`. Documents with grades below 0 are unjudged and are ignored. The loss of a query without
two different grades is 0 (except for :class:`ListNetLoss`, where the entropy remains).
:mod:`rankloop.losses.whole` has compiled versions of some losses, for all queries of a data set at
once, and :func:`register_loss` gives your own loss a name.

>>> import numpy as np
>>> SlamLoss("AP").value(np.array([0.5, 0.0]), np.array([0.0, 1.0]))
1.5
"""

from rankloop.losses.base import Loss, QueryLoss
from rankloop.losses.fidelity import Fidelity
from rankloop.losses.listnet import ListNetLoss
from rankloop.losses.maxpair import MaxPairLoss
from rankloop.losses.pairwise import PairwiseHinge, PairwiseLogistic
from rankloop.losses.registry import find_loss, loss_names, register_loss
from rankloop.losses.slam import SlamLoss
from rankloop.losses.xendcg import XENDCGLoss

__all__ = [
    "Fidelity",
    "ListNetLoss",
    "Loss",
    "MaxPairLoss",
    "PairwiseHinge",
    "PairwiseLogistic",
    "QueryLoss",
    "SlamLoss",
    "XENDCGLoss",
    "find_loss",
    "loss_names",
    "register_loss",
]
