"""Experiments: how well rankers do, measured honestly."""

from .comparison import compare as compare
from .explaining import Explanation as Explanation
from .explaining import explain as explain
from .progressive import Stream as Stream
from .progressive import stream as stream
from .report import write_report as write_report
from .standings import Standings as Standings
from .tuning import Tuned as Tuned
from .tuning import tune as tune

__all__: list[str]
