"""Click models by name, as on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.clicks.models.cascade import Cascade
from rankloop.clicks.models.ccm import CCM
from rankloop.clicks.models.ctr import DocumentCTR, GlobalCTR, RankCTR
from rankloop.clicks.models.dbn import DBN, SDBN
from rankloop.clicks.models.dcm import DCM
from rankloop.clicks.models.pbm import PBM
from rankloop.clicks.models.trust import TrustBias
from rankloop.clicks.models.ubm import UBM
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.clicks.models.base import ClickModel

CLICK_MODELS: Mapping[str, type[ClickModel]] = {
    "global-ctr": GlobalCTR,
    "rank-ctr": RankCTR,
    "document-ctr": DocumentCTR,
    "pbm": PBM,
    "trust": TrustBias,
    "cascade": Cascade,
    "dcm": DCM,
    "sdbn": SDBN,
    "dbn": DBN,
    "ccm": CCM,
    "ubm": UBM,
}
"""Every click model by its name."""


def make_click_model(name: str) -> ClickModel:
    """Make a click model by name; it is not fitted yet.

    >>> type(make_click_model("pbm")).__name__
    'PBM'
    """
    if name not in CLICK_MODELS:
        raise DataError(f"unknown click model {name!r}; known: {', '.join(CLICK_MODELS)}")
    return CLICK_MODELS[name]()
