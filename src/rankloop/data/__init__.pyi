"""Data gathered by query: readers, writers, scaling, splits, simulators."""

from .dataset import Query as Query
from .dataset import QueryDataset as QueryDataset
from .folds import letor_folds as letor_folds
from .io.formats import read as read
from .io.letor import iter_letor as iter_letor
from .io.letor import read_letor as read_letor
from .io.letor import write_letor as write_letor
from .io.tables.reading import from_table as from_table
from .io.tables.reading import iter_table as iter_table
from .io.tables.reading import read_table as read_table
from .io.tables.writing import to_table as to_table
from .io.tables.writing import write_table as write_table
from .io.trec import read_qrels as read_qrels
from .io.trec import read_run as read_run
from .io.trec import write_qrels as write_qrels
from .io.trec import write_run as write_run
from .io.trec_join import run_from_scores as run_from_scores
from .joining import concat as concat
from .noise import add_negatives as add_negatives
from .noise import perturb_grades as perturb_grades
from .scaling import NoScaling as NoScaling
from .scaling import QueryMinMax as QueryMinMax
from .scaling import RobustLog as RobustLog
from .scaling import Standard as Standard
from .sparse_rows import SparseRows as SparseRows
from .splits import QueryKFold as QueryKFold
from .splits import k_folds as k_folds
from .splits import random_split as random_split
from .splits import split_in_order as split_in_order
from .summary import summarise as summarise

__all__: list[str]
