"""Measures, how ranks and ties are decided, conventions, and comparisons of rankings."""

from .comparison import compare_runs as compare_runs
from .conventions import CONVENTIONS as CONVENTIONS
from .conventions import Convention as Convention
from .evaluation import Evaluation as Evaluation
from .evaluation import Result as Result
from .evaluation import evaluate as evaluate
from .explain import explain_measure as explain_measure
from .measure import AP as AP
from .measure import DCG as DCG
from .measure import ERR as ERR
from .measure import RBP as RBP
from .measure import RR as RR
from .measure import Measure as Measure
from .measure import P as P
from .measure import PairAcc as PairAcc
from .measure import R as R
from .measure import Success as Success
from .measure import nDCG as nDCG
from .ranking import rank_order as rank_order

__all__: list[str]
