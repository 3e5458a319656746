"""Features: what the columns of a matrix mean, and how they become numbers for rankers."""

from .changes import Change as Change
from .column import Feature as Feature
from .columns import Features as Features
from .definitions import Definitions as Definitions
from .request import Request as Request
from .state import FeatureState as FeatureState

__all__: list[str]
