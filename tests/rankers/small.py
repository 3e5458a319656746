"""Rankers as registered, but for those that take long: the same code in fewer rounds."""

from __future__ import annotations

from rankloop import XENDCG, Prepared, XENDCGBoost, make_ranker
from rankloop.rankers.registry import online_names, ranker_names, wrapper_names

EVERY = (*ranker_names(), *wrapper_names())
ONLINE = (*online_names(), "prepared", "described")  # around the default ranker, which is online

TREES = {"trees": 30}
FEWER = {
    "coordinate-ascent": {"rounds": 4, "restarts": 2, "steps": 10},
    **dict.fromkeys(
        ("lambdamart", "loss-boost", "listnet-boost", "xendcg-boost", "yetirank"), TREES
    ),
    "stacked": {"ranker": XENDCGBoost(**TREES)},
    "blend": {"members": [Prepared(XENDCG(), "log"), XENDCGBoost(**TREES)], "seeds": 2},
}


def small(name):
    """Make a ranker that learns small data in moments."""
    return make_ranker(name).set_params(**FEWER.get(name, {}))
