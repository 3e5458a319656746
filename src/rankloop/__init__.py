"""Learning to rank that never stops learning.

>>> import rankloop as rl
>>> data = rl.QueryDataset.from_arrays([[0.1], [0.9], [0.4]], [0, 2, 1], group=[3])
>>> rl.evaluate(data, data.X[:, 0], rl.nDCG @ 10)["nDCG@10"]
1.0

Importing the package is light: what is below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankloop.clicks.cascade import cascade_clicks as cascade_clicks
    from rankloop.clicks.cascade import click_probabilities as click_probabilities
    from rankloop.data.dataset import Query as Query
    from rankloop.data.dataset import QueryDataset as QueryDataset
    from rankloop.data.folds import letor_folds as letor_folds
    from rankloop.data.io.formats import read as read
    from rankloop.data.io.letor import iter_letor as iter_letor
    from rankloop.data.io.letor import read_letor as read_letor
    from rankloop.data.io.letor import write_letor as write_letor
    from rankloop.data.io.table import from_table as from_table
    from rankloop.data.io.table import iter_table as iter_table
    from rankloop.data.io.table import read_table as read_table
    from rankloop.data.io.table import to_table as to_table
    from rankloop.data.io.table import write_table as write_table
    from rankloop.data.io.trec import read_qrels as read_qrels
    from rankloop.data.io.trec import read_run as read_run
    from rankloop.data.io.trec import write_qrels as write_qrels
    from rankloop.data.io.trec import write_run as write_run
    from rankloop.data.io.trec_join import run_from_scores as run_from_scores
    from rankloop.data.joining import concat as concat
    from rankloop.data.perturb import add_negatives as add_negatives
    from rankloop.data.perturb import perturb_grades as perturb_grades
    from rankloop.data.scaling import NoScaling as NoScaling
    from rankloop.data.scaling import QueryMinMax as QueryMinMax
    from rankloop.data.scaling import RobustLog as RobustLog
    from rankloop.data.scaling import Standard as Standard
    from rankloop.data.splits import QueryKFold as QueryKFold
    from rankloop.data.splits import k_folds as k_folds
    from rankloop.data.splits import random_split as random_split
    from rankloop.data.summary import summarise as summarise
    from rankloop.exceptions import BadRowsWarning as BadRowsWarning
    from rankloop.exceptions import DataError as DataError
    from rankloop.exceptions import DataTypeError as DataTypeError
    from rankloop.exceptions import MeasureError as MeasureError
    from rankloop.exceptions import MemoryLimitError as MemoryLimitError
    from rankloop.exceptions import MissingExtraError as MissingExtraError
    from rankloop.exceptions import ModelError as ModelError
    from rankloop.exceptions import NotFittedError as NotFittedError
    from rankloop.exceptions import ParseError as ParseError
    from rankloop.exceptions import RankloopError as RankloopError
    from rankloop.experiments.compare import compare_learners as compare_learners
    from rankloop.experiments.progressive import progressive as progressive
    from rankloop.experiments.report import write_report as write_report
    from rankloop.experiments.tune import tune as tune
    from rankloop.learners.batch.adarank import AdaRank as AdaRank
    from rankloop.learners.batch.baselines import Constant as Constant
    from rankloop.learners.batch.baselines import SingleFeature as SingleFeature
    from rankloop.learners.batch.coordinate_ascent import CoordinateAscent as CoordinateAscent
    from rankloop.learners.batch.frank import FRank as FRank
    from rankloop.learners.batch.listnet import ListNet as ListNet
    from rankloop.learners.batch.rankboost import RankBoost as RankBoost
    from rankloop.learners.batch.ranknet import RankNet as RankNet
    from rankloop.learners.batch.ranksvm import RankSVM as RankSVM
    from rankloop.learners.batch.xendcg import XENDCG as XENDCG
    from rankloop.learners.boosting.lambdamart import LambdaMART as LambdaMART
    from rankloop.learners.boosting.listnet import ListNetBoost as ListNetBoost
    from rankloop.learners.boosting.loss import LossBoost as LossBoost
    from rankloop.learners.boosting.xendcg import XENDCGBoost as XENDCGBoost
    from rankloop.learners.ensembles.auto import Auto as Auto
    from rankloop.learners.ensembles.blend import Blend as Blend
    from rankloop.learners.ensembles.mix import Mix as Mix
    from rankloop.learners.kernel.features import KernelFeatures as KernelFeatures
    from rankloop.learners.kernel.keeprank import KeepRank as KeepRank
    from rankloop.learners.kernel.online import KernelMinimax as KernelMinimax
    from rankloop.learners.kernel.online import KernelSlam as KernelSlam
    from rankloop.learners.kernel.online import KernelSolarI as KernelSolarI
    from rankloop.learners.kernel.predtron import KernelPredtron as KernelPredtron
    from rankloop.learners.kernel.text import parse_kernel as parse_kernel
    from rankloop.learners.online.committee import CommitteePerceptron as CommitteePerceptron
    from rankloop.learners.online.listnet import OnlineListNet as OnlineListNet
    from rankloop.learners.online.minimax import MinimaxPerceptron as MinimaxPerceptron
    from rankloop.learners.online.newton import NewtonXENDCG as NewtonXENDCG
    from rankloop.learners.online.pairwise import PairwisePerceptron as PairwisePerceptron
    from rankloop.learners.online.perceptron import Perceptron as Perceptron
    from rankloop.learners.online.prank import PRank as PRank
    from rankloop.learners.online.slam import Slam as Slam
    from rankloop.learners.online.solar_i import SolarI as SolarI
    from rankloop.learners.online.solar_ii import SolarII as SolarII
    from rankloop.learners.online.xendcg import OnlineXENDCG as OnlineXENDCG
    from rankloop.learners.predtron.estimators import PredtronClassifier as PredtronClassifier
    from rankloop.learners.predtron.estimators import PredtronMultilabel as PredtronMultilabel
    from rankloop.learners.predtron.estimators import PredtronOrdinal as PredtronOrdinal
    from rankloop.learners.predtron.learner import Predtron as Predtron
    from rankloop.learners.predtron.ranker import PredtronRanker as PredtronRanker
    from rankloop.learners.ranking import Ranking as Ranking
    from rankloop.learners.registry import make_learner as make_learner
    from rankloop.learners.saving import load as load
    from rankloop.learners.wrappers.lifted import Lifted as Lifted
    from rankloop.learners.wrappers.mapped import Mapped as Mapped
    from rankloop.learners.wrappers.scaled import Scaled as Scaled
    from rankloop.metrics.comparison import compare as compare
    from rankloop.metrics.conventions import CONVENTIONS as CONVENTIONS
    from rankloop.metrics.conventions import Convention as Convention
    from rankloop.metrics.evaluation import Evaluation as Evaluation
    from rankloop.metrics.evaluation import Result as Result
    from rankloop.metrics.evaluation import evaluate as evaluate
    from rankloop.metrics.explain import explain as explain
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
    from rankloop.metrics.scorer import scorer as scorer

_HOME = {
    "rankloop.clicks.cascade": ("cascade_clicks", "click_probabilities"),
    "rankloop.data.dataset": ("Query", "QueryDataset"),
    "rankloop.data.joining": ("concat",),
    "rankloop.data.io.formats": ("read",),
    "rankloop.data.io.letor": ("iter_letor", "read_letor", "write_letor"),
    "rankloop.data.perturb": ("add_negatives", "perturb_grades"),
    "rankloop.data.scaling": ("NoScaling", "QueryMinMax", "RobustLog", "Standard"),
    "rankloop.data.folds": ("letor_folds",),
    "rankloop.data.splits": ("QueryKFold", "k_folds", "random_split"),
    "rankloop.data.summary": ("summarise",),
    "rankloop.data.io.table": ("from_table", "iter_table", "read_table", "to_table", "write_table"),
    "rankloop.data.io.trec": ("read_qrels", "read_run", "write_qrels", "write_run"),
    "rankloop.data.io.trec_join": ("run_from_scores",),
    "rankloop.exceptions": (
        "BadRowsWarning",
        "DataError",
        "DataTypeError",
        "MeasureError",
        "MemoryLimitError",
        "MissingExtraError",
        "ModelError",
        "NotFittedError",
        "ParseError",
        "RankloopError",
    ),
    "rankloop.experiments.compare": ("compare_learners",),
    "rankloop.experiments.progressive": ("progressive",),
    "rankloop.experiments.report": ("write_report",),
    "rankloop.experiments.tune": ("tune",),
    "rankloop.learners.ensembles.auto": ("Auto",),
    "rankloop.learners.wrappers.scaled": ("Scaled",),
    "rankloop.learners.batch.listnet": ("ListNet",),
    "rankloop.learners.batch.ranknet": ("RankNet",),
    "rankloop.learners.batch.ranksvm": ("RankSVM",),
    "rankloop.learners.batch.xendcg": ("XENDCG",),
    "rankloop.learners.batch.adarank": ("AdaRank",),
    "rankloop.learners.batch.baselines": ("Constant", "SingleFeature"),
    "rankloop.learners.batch.coordinate_ascent": ("CoordinateAscent",),
    "rankloop.learners.batch.frank": ("FRank",),
    "rankloop.learners.batch.rankboost": ("RankBoost",),
    "rankloop.learners.boosting.xendcg": ("XENDCGBoost",),
    "rankloop.learners.boosting.loss": ("LossBoost",),
    "rankloop.learners.boosting.listnet": ("ListNetBoost",),
    "rankloop.learners.boosting.lambdamart": ("LambdaMART",),
    "rankloop.learners.ensembles.blend": ("Blend",),
    "rankloop.learners.kernel.features": ("KernelFeatures",),
    "rankloop.learners.kernel.keeprank": ("KeepRank",),
    "rankloop.learners.wrappers.lifted": ("Lifted",),
    "rankloop.learners.kernel.online": ("KernelMinimax", "KernelSlam", "KernelSolarI"),
    "rankloop.learners.kernel.predtron": ("KernelPredtron",),
    "rankloop.learners.kernel.text": ("parse_kernel",),
    "rankloop.learners.wrappers.mapped": ("Mapped",),
    "rankloop.learners.ensembles.mix": ("Mix",),
    "rankloop.learners.online.committee": ("CommitteePerceptron",),
    "rankloop.learners.online.listnet": ("OnlineListNet",),
    "rankloop.learners.online.minimax": ("MinimaxPerceptron",),
    "rankloop.learners.online.newton": ("NewtonXENDCG",),
    "rankloop.learners.online.pairwise": ("PairwisePerceptron",),
    "rankloop.learners.online.perceptron": ("Perceptron",),
    "rankloop.learners.online.prank": ("PRank",),
    "rankloop.learners.online.slam": ("Slam",),
    "rankloop.learners.online.solar_i": ("SolarI",),
    "rankloop.learners.online.solar_ii": ("SolarII",),
    "rankloop.learners.online.xendcg": ("OnlineXENDCG",),
    "rankloop.learners.predtron.estimators": (
        "PredtronClassifier",
        "PredtronMultilabel",
        "PredtronOrdinal",
    ),
    "rankloop.learners.predtron.learner": ("Predtron",),
    "rankloop.learners.predtron.ranker": ("PredtronRanker",),
    "rankloop.learners.ranking": ("Ranking",),
    "rankloop.learners.registry": ("make_learner",),
    "rankloop.learners.saving": ("load",),
    "rankloop.metrics.comparison": ("compare",),
    "rankloop.metrics.conventions": ("CONVENTIONS", "Convention"),
    "rankloop.metrics.evaluation": ("Evaluation", "Result", "evaluate"),
    "rankloop.metrics.explain": ("explain",),
    "rankloop.metrics.measures": (
        "AP",
        "DCG",
        "ERR",
        "P",
        "PairAcc",
        "R",
        "RBP",
        "RR",
        "Measure",
        "Success",
        "nDCG",
    ),
    "rankloop.metrics.ranking": ("rank_order",),
    "rankloop.metrics.scorer": ("scorer",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
__all__ = sorted(_MODULE_OF)
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rankloop' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
