"""Measures, how ranks and ties are decided, conventions, and comparisons of rankings."""

from rankloop.metrics.comparison import compare_runs as compare_runs
from rankloop.metrics.conventions import CONVENTIONS as CONVENTIONS
from rankloop.metrics.conventions import Convention as Convention
from rankloop.metrics.evaluation import Evaluation as Evaluation
from rankloop.metrics.evaluation import Result as Result
from rankloop.metrics.evaluation import evaluate as evaluate
from rankloop.metrics.explain import explain_measure as explain_measure
from rankloop.metrics.measures import AP as AP
from rankloop.metrics.measures import DCG as DCG
from rankloop.metrics.measures import ERR as ERR
from rankloop.metrics.measures import RBP as RBP
from rankloop.metrics.measures import RR as RR
from rankloop.metrics.measures import Measure as Measure
from rankloop.metrics.measures import P as P
from rankloop.metrics.measures import PairAcc as PairAcc
from rankloop.metrics.measures import R as R
from rankloop.metrics.measures import Success as Success
from rankloop.metrics.measures import nDCG as nDCG
from rankloop.metrics.ranking import rank_order as rank_order

__all__: list[str]
