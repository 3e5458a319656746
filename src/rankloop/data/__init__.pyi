"""Data gathered by query: readers, writers, scaling, splits, simulators."""

from rankloop.data.dataset import Query as Query
from rankloop.data.dataset import QueryDataset as QueryDataset
from rankloop.data.features import Feature as Feature
from rankloop.data.features import Features as Features
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
from rankloop.data.sparse_rows import SparseRows as SparseRows
from rankloop.data.splits import QueryKFold as QueryKFold
from rankloop.data.splits import k_folds as k_folds
from rankloop.data.splits import random_split as random_split
from rankloop.data.splits import split_in_order as split_in_order
from rankloop.data.summary import summarise as summarise

__all__: list[str]
