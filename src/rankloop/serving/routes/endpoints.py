"""All routes of the service; a new one is a file beside this, and a line here.

The dashboard adds its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.serving.routes import (
    beacon,
    catalogue,
    experiments,
    health,
    metarank,
    models,
    personal,
    ubi,
)
from rankloop.serving.routes.events import EVENTS
from rankloop.serving.routes.features import FEATURES
from rankloop.serving.routes.feedback import FEEDBACK
from rankloop.serving.routes.judgements import JUDGEMENTS
from rankloop.serving.routes.openapi import OPENAPI
from rankloop.serving.routes.rank import RANK
from rankloop.serving.routes.rankings import RANKING
from rankloop.serving.routes.state import LOOPS, STATE

if TYPE_CHECKING:
    from rankloop.serving.routes.base import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = (
    RANK,
    FEEDBACK,
    JUDGEMENTS,
    RANKING,
    *personal.ENDPOINTS,
    *beacon.ENDPOINTS,
    *catalogue.ENDPOINTS,
    LOOPS,
    STATE,
    FEATURES,
    EVENTS,
    *models.ENDPOINTS,
    *experiments.ENDPOINTS,
    *ubi.ENDPOINTS,
    *metarank.ENDPOINTS,
    *health.ENDPOINTS,
    OPENAPI,
)
