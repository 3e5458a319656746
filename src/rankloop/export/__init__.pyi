"""Models that travel: a ranker in the form of another engine, with a proof of equal scores."""

from .describe import describe as describe
from .describe import program_of as program_of
from .exporting import Verified as Verified
from .exporting import export as export
from .exporting import rounding_moves as rounding_moves
from .exporting import verify as verify
from .targets import TARGETS as TARGETS

__all__: list[str]
