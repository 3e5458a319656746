from collections.abc import Sequence
from typing import Any, TypedDict, type_check_only

import numpy as np
from numpy.typing import NDArray

def first_not_finite(x: NDArray[np.float32], allow_nan: bool = False) -> int: ...
def assign_positions(
    scores: NDArray[np.float64],
    gains: NDArray[np.float64],
    f: NDArray[np.float64],
    d: NDArray[np.float64],
    positions: NDArray[np.int64],
    few: int = -1,
) -> None: ...
def split_text(
    text: NDArray[np.uint8], ends: NDArray[np.int64], first: int, end: int
) -> list[str]: ...
def gather_rows(x: NDArray[np.float32], rows: NDArray[np.int64]) -> None: ...
def format_letor(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    query_ids: list[str],
    doc_ids: list[str] | None,
    base: int,
    sparse: bool,
) -> bytes: ...

@type_check_only
class LetorRows(TypedDict):
    X: NDArray[np.float32]
    y: NDArray[np.float64]
    run_ids: NDArray[np.int64] | tuple[NDArray[np.uint8], NDArray[np.int64]] | None
    run_starts: NDArray[np.int64]
    doc_ids: tuple[NDArray[np.uint8], NDArray[np.int64]] | None
    bad: list[tuple[int, str]]
    n_bad: int
    error: tuple[int, str] | None
    cost: int

class LetorReader:
    def __init__(
        self,
        source: Any,
        *,
        n_features: int,
        base: int,
        null_value: float,
        max_index: int,
        max_bytes: int,
        skip_bad: bool,
        doc_ids: bool,
        block_bytes: int,
    ) -> None: ...
    def read(self, enough: int | None, threads: int, held: int = 0) -> LetorRows: ...
    def fix_width(self) -> None: ...
    @property
    def base(self) -> int: ...
    @property
    def finished(self) -> bool: ...
    @property
    def lines(self) -> int: ...
    @property
    def bytes_read(self) -> int: ...
    @property
    def met_limit(self) -> bool: ...
    @property
    def open_id(self) -> str: ...
    @property
    def open_rows(self) -> int: ...

def rank_rows(
    scores: NDArray[np.float32] | NDArray[np.float64],
    offsets: NDArray[np.int64],
    keys: NDArray[np.int64] | None,
    threads: int,
) -> NDArray[np.int64]: ...
def measure_queries(
    scores: NDArray[np.float32] | NDArray[np.float64],
    grades: NDArray[np.float64],
    gains: NDArray[np.float64],
    offsets: NDArray[np.int64],
    keys: NDArray[np.int64] | None,
    discounts: NDArray[np.float64],
    measures: Sequence[tuple[int, int, float, float]],
    average_ties: bool,
    ap_by_cutoff: bool,
    threads: int,
) -> NDArray[np.float64]: ...

class WholeLoss:
    def __init__(
        self,
        kind: int,
        gamma: float,
        grades: NDArray[np.float64],
        offsets: NDArray[np.int64],
        doc_weights: NDArray[np.float64] | None,
        query_weights: NDArray[np.float64] | None,
    ) -> None: ...
    def at(
        self, scores: NDArray[np.float64], threads: int
    ) -> tuple[float, NDArray[np.float64]]: ...
    def product(self, v: NDArray[np.float64], threads: int) -> NDArray[np.float64]: ...
    def diagonal(self, threads: int) -> NDArray[np.float64]: ...

def row_products(
    x: NDArray[np.float32], w: NDArray[np.float64], threads: int
) -> NDArray[np.float64]: ...
def column_products(
    x: NDArray[np.float32], r: NDArray[np.float64], threads: int
) -> NDArray[np.float64]: ...
def column_spreads(
    x: NDArray[np.float32],
    offsets: NDArray[np.int64],
    h: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]: ...
def cholesky(matrix: NDArray[np.float64]) -> NDArray[np.float64]: ...
def cholesky_solve(upper: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]: ...
def query_scatter(
    x: NDArray[np.float32],
    offsets: NDArray[np.int64],
    h: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]: ...
def query_ranks(
    x: NDArray[np.float32], offsets: NDArray[np.int64], ranks: NDArray[np.float32]
) -> None: ...
def learn_slam(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
    ap: bool,
    cutoff: int,
    margin: float,
    rate: float,
    decay: float,
) -> int: ...
def learn_minimax(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
    rate: float,
    decay: float,
) -> int: ...
def learn_perceptron(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
    rate: float,
    decay: float,
) -> int: ...
def learn_softmax(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
    gains: bool,
    gamma: float,
    rate: float,
    decay: float,
) -> int: ...
def learn_prank(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
    thresholds: NDArray[np.float64],
    count: NDArray[np.int64],
) -> int: ...
def learn_pairs_perceptron(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
) -> int: ...
def learn_solar(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
    slack: float,
) -> int: ...
def learn_solar_full(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
    gamma: float,
    precision: NDArray[np.float64],
    h: NDArray[np.float64],
) -> int: ...
def learn_solar_diagonal(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
    gamma: float,
    variance: NDArray[np.float64],
) -> int: ...
def learn_newton(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
    gains: bool,
    gamma: float,
    power: float,
    steps: int,
    precision: NDArray[np.float64],
) -> int: ...
def learn_committee(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    w: NDArray[np.float64],
    sum: NDArray[np.float64] | None,  # noqa: A002
    queries: int,
    scores: NDArray[np.float32] | None,
    current: NDArray[np.float64],
    members: NDArray[np.float64],
    lasted: NDArray[np.float64],
    streak: NDArray[np.int64],
) -> int: ...
def bin_sums(
    bins: NDArray[np.uint8],
    values: NDArray[np.float64],
    sums: NDArray[np.float64],
    threads: int,
) -> None: ...
def add_stumps(
    x: NDArray[np.float32],
    features: NDArray[np.int64],
    thresholds: NDArray[np.float32],
    alphas: NDArray[np.float64],
    scores: NDArray[np.float64],
    threads: int,
) -> None: ...
def exponential_pairs(
    scores: NDArray[np.float64],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    log_weights: NDArray[np.float64],
    above: NDArray[np.float64],
    below: NDArray[np.float64],
    threads: int,
) -> None: ...
def fidelity_pairs(
    scores: NDArray[np.float64],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    weights: NDArray[np.float64],
    query_weights: NDArray[np.float64],
    potentials: NDArray[np.float64],
    threads: int,
) -> float: ...
def fidelity_splits(
    scores: NDArray[np.float64],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    weights: NDArray[np.float64],
    query_weights: NDArray[np.float64],
    rankers: NDArray[np.uint8],
    splits: NDArray[np.float64],
    threads: int,
) -> None: ...
def softmax_trees(
    scores: NDArray[np.float64],
    grades: NDArray[np.float64],
    offsets: NDArray[np.int64],
    doc_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    gains: bool,
    gamma_kind: int,
    gamma: float,
    seed: int,
    draw: int,
    terms: int,
    gradient: NDArray[np.float32],
    hessian: NDArray[np.float32],
    threads: int,
) -> float: ...
def solar_steps(
    gram: NDArray[np.float32],
    scores: NDArray[np.float32],
    y: NDArray[np.float64],
    steps: NDArray[np.float64],
    slack: float,
) -> bool: ...
def relax_rows(
    gram: NDArray[np.float32],
    scores: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    share: NDArray[np.float64],
    whole: NDArray[np.float64],
) -> float: ...
