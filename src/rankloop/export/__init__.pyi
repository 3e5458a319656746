"""Models that travel: a ranker in the form of another engine, with a proof of equal scores."""

from rankloop.export.describe import describe as describe
from rankloop.export.describe import program_of as program_of
from rankloop.export.exporting import Verified as Verified
from rankloop.export.exporting import export as export
from rankloop.export.exporting import verify as verify
from rankloop.export.rounding import rounding_moves as rounding_moves
from rankloop.export.targets import TARGETS as TARGETS

__all__: list[str]
