"""Measures, how ranks and ties are decided, conventions, and comparisons of rankings."""

from rankloop.measures.comparison import compare_runs as compare_runs
from rankloop.measures.conventions import CONVENTIONS as CONVENTIONS
from rankloop.measures.conventions import Convention as Convention
from rankloop.measures.evaluation import Evaluation as Evaluation
from rankloop.measures.evaluation import Result as Result
from rankloop.measures.evaluation import evaluate as evaluate
from rankloop.measures.explain import explain_measure as explain_measure
from rankloop.measures.measure import AP as AP
from rankloop.measures.measure import DCG as DCG
from rankloop.measures.measure import ERR as ERR
from rankloop.measures.measure import RBP as RBP
from rankloop.measures.measure import RR as RR
from rankloop.measures.measure import Measure as Measure
from rankloop.measures.measure import P as P
from rankloop.measures.measure import PairAcc as PairAcc
from rankloop.measures.measure import R as R
from rankloop.measures.measure import Success as Success
from rankloop.measures.measure import nDCG as nDCG
from rankloop.measures.ranking import rank_order as rank_order

__all__: list[str]
