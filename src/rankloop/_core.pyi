from collections.abc import Sequence
from typing import Any, TypedDict, overload, type_check_only

import numpy as np
from numpy.typing import NDArray

def startable_threads(most: int) -> int: ...
@overload
def first_not_finite(x: NDArray[np.float32], allow_nan: bool = False) -> int: ...
@overload
def first_not_finite(x: NDArray[np.float64]) -> int: ...
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
def relax_rows(
    gram: NDArray[np.float32],
    scores: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    share: NDArray[np.float64],
    whole: NDArray[np.float64],
) -> float: ...
def learn_slam(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    sizes: NDArray[np.float64],
    clip: float,
    ap: bool,
    cutoff: int,
    margin: float,
    rate: float,
    decay: float,
    only_loss: bool,
    averaged: bool,
) -> int: ...
def learn_betting_slam(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    sizes: NDArray[np.float64],
    clip: float,
    ap: bool,
    cutoff: int,
    margin: float,
    only_loss: bool,
    averaged: bool,
    steps: NDArray[np.float64],
    purse: NDArray[np.float64],
) -> int: ...
def learn_minimax(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    sizes: NDArray[np.float64],
    clip: float,
    rate: float,
    decay: float,
) -> int: ...
def learn_perceptron(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    sizes: NDArray[np.float64],
    clip: float,
    rate: float,
    decay: float,
) -> int: ...
def learn_softmax(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    sizes: NDArray[np.float64],
    clip: float,
    gains: bool,
    gamma: float,
    rate: float,
    decay: float,
    one_grade: bool,
) -> int: ...
def learn_prank(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    sizes: NDArray[np.float64],
    clip: float,
    thresholds: NDArray[np.float64],
    count: NDArray[np.int64],
) -> int: ...
def learn_pairs_perceptron(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    sizes: NDArray[np.float64],
    clip: float,
    by_row: bool,
) -> int: ...
def learn_solar(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    slack: float,
) -> int: ...
def learn_solar_ii(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    gamma: float,
    root: NDArray[np.float64],
    variances: NDArray[np.float64],
    directions: NDArray[np.float64],
    sizes: NDArray[np.float64],
    clip: float,
) -> int: ...
def learn_solar_diagonal(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    gamma: float,
    variance: NDArray[np.float64],
) -> int: ...
def learn_newton(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    gains: bool,
    gamma: float,
    power: float,
    steps: int,
    root: NDArray[np.float64],
    variances: NDArray[np.float64],
    directions: NDArray[np.float64],
    sizes: NDArray[np.float64],
    clip: float,
) -> int: ...
def learn_committee(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    sizes: NDArray[np.float64],
    clip: float,
    by_row: bool,
    current: NDArray[np.float64],
    members: NDArray[np.float64],
    lasted: NDArray[np.float64],
    streak: NDArray[np.int64],
) -> int: ...
def solar_steps(
    gram: NDArray[np.float32],
    scores: NDArray[np.float32],
    y: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    weight: float,
    steps: NDArray[np.float64],
    slack: float,
) -> bool: ...

class QueryError(ValueError): ...

def exp(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def exp2(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def log(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def log2(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def log1p(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def tanh(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def sin(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def cos(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def power(x: NDArray[np.float64], exponent: float) -> NDArray[np.float64]: ...
def dot(x: NDArray[np.float64], y: NDArray[np.float64]) -> float: ...
def row_pairs(x: NDArray[Any], z: NDArray[Any], threads: int) -> NDArray[Any]: ...
def score_rows(
    x: NDArray[np.float32], w: NDArray[np.float64], threads: int
) -> NDArray[np.float32]: ...
def squared_lengths(x: NDArray[np.float32]) -> NDArray[np.float32]: ...
def rbf_rows(
    x: NDArray[np.float32], z: NDArray[np.float32], scale: float, threads: int
) -> NDArray[np.float32]: ...
def chi_rows(
    x: NDArray[np.float32], z: NDArray[np.float32], gamma: float, threads: int
) -> NDArray[np.float32]: ...
def solve_definite(matrices: NDArray[np.float64], sides: NDArray[np.float64]) -> None: ...
def largest_places(values: NDArray[np.float32], few: int) -> NDArray[np.int64]: ...
def rotate_rows(a: NDArray[np.float64], left: NDArray[np.float64]) -> None: ...
def standardise(scores: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]: ...
def mixing_weights(
    losses: NDArray[np.float64], queries: int, uniform: bool
) -> NDArray[np.float64]: ...
def mix_queries(
    scores: NDArray[np.float64],
    offsets: NDArray[np.int64],
    losses: NDArray[np.float64],
    so_far: NDArray[np.float64],
    queries: int,
    uniform: bool,
) -> NDArray[np.float64]: ...
def query_minmax(
    x: NDArray[np.float32], offsets: NDArray[np.int64], out: NDArray[np.float32], column: int
) -> None: ...
def query_centre(
    x: NDArray[np.float32], offsets: NDArray[np.int64], out: NDArray[np.float32], column: int
) -> None: ...
def query_ranks(
    x: NDArray[np.float32], offsets: NDArray[np.int64], out: NDArray[np.float32], column: int
) -> None: ...

PageArrays = tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.uint8],
]

def group_click_log(
    offsets: NDArray[np.int64],
    queries: NDArray[np.int32],
    documents: NDArray[np.int32],
    positions: NDArray[np.int32],
    clicks: NDArray[np.uint8],
    counts: NDArray[np.float64] | None,
    n_queries: int,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.uint8],
    NDArray[np.int32],
]: ...
def fit_browsing_model(
    pages: PageArrays,
    attraction: NDArray[np.float64],
    examination: NDArray[np.float64],
    ranks: int,
    by_last_click: bool,
    prior: tuple[float, float],
    iterations: int,
    threads: int,
) -> None: ...
def fit_trust_model(
    pages: PageArrays,
    relevance: NDArray[np.float64],
    relevant: NDArray[np.float64],
    irrelevant: NDArray[np.float64],
    prior: tuple[float, float],
    iterations: int,
    threads: int,
) -> None: ...
def fit_dependent_model(
    pages: PageArrays,
    attraction: NDArray[np.float64],
    go_on: NDArray[np.float64],
    prior: tuple[float, float],
    iterations: int,
    threads: int,
) -> None: ...
def fit_bayesian_model(
    pages: PageArrays,
    attraction: NDArray[np.float64],
    satisfaction: NDArray[np.float64],
    go_on: float,
    learns_going_on: bool,
    prior: tuple[float, float],
    iterations: int,
    threads: int,
) -> float: ...
def fit_click_chain_model(
    pages: PageArrays,
    attraction: NDArray[np.float64],
    go_on: tuple[float, float, float],
    prior: tuple[float, float],
    iterations: int,
    threads: int,
) -> list[float]: ...
def chain_click_probabilities(
    attraction: NDArray[np.float64],
    after_skip: NDArray[np.float64],
    after_click: NDArray[np.float64],
    offsets: NDArray[np.int64],
    clicks: NDArray[np.uint8] | None,
    threads: int,
) -> NDArray[np.float64]: ...
def chain_clicks(
    attraction: NDArray[np.float64],
    after_skip: NDArray[np.float64],
    after_click: NDArray[np.float64],
    offsets: NDArray[np.int64],
    click_draws: NDArray[np.float64],
    stop_draws: NDArray[np.float64] | None,
) -> NDArray[np.uint8]: ...
def browsing_click_probabilities(
    attraction: NDArray[np.float64],
    positions: NDArray[np.int32],
    examination: NDArray[np.float64],
    ranks: int,
    offsets: NDArray[np.int64],
    clicks: NDArray[np.uint8] | None,
    threads: int,
) -> NDArray[np.float64]: ...
def browsing_clicks(
    attraction: NDArray[np.float64],
    positions: NDArray[np.int32],
    examination: NDArray[np.float64],
    ranks: int,
    offsets: NDArray[np.int64],
    draws: NDArray[np.float64],
) -> NDArray[np.uint8]: ...
def sample_plackett_luce(
    scores: NDArray[np.float64], draws: NDArray[np.float64], k: int
) -> NDArray[np.int64]: ...
def reversal_shares(
    scores: NDArray[np.float64], order: NDArray[np.int64], pairs: NDArray[np.int64]
) -> NDArray[np.float64]: ...
def read_page(clicks: NDArray[np.uint8], counts: NDArray[np.float64]) -> NDArray[np.float64]: ...
def unit_directions(draws: NDArray[np.float64], n: int, d: int) -> NDArray[np.float64]: ...
def learn_pdgd(
    x: NDArray[np.float32],
    y: NDArray[np.float64],
    offsets: NDArray[np.int64],
    document_weights: NDArray[np.float64] | None,
    query_weights: NDArray[np.float64] | None,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    scores: NDArray[np.float32] | None,
    sizes: NDArray[np.float64],
    clip: float,
    rate: float,
    decay: float,
    ranks: NDArray[np.int32] | None = None,
    logged: NDArray[np.float64] | None = None,
) -> int: ...
def play_pdgd(
    x: NDArray[np.float32],
    offsets: NDArray[np.int64],
    attraction: NDArray[np.float64],
    after_skip: NDArray[np.float64],
    after_click: NDArray[np.float64],
    chosen: NDArray[np.int64],
    draws: NDArray[np.float64],
    stops: bool,
    w: NDArray[np.float64],
    total: NDArray[np.float64] | None,
    queries: int,
    sizes: NDArray[np.float64],
    clip: float,
    rate: float,
    decay: float,
    shown: NDArray[np.int64],
    clicks: NDArray[np.uint8],
) -> int: ...
def blake2b_of_each(texts: list[bytes]) -> list[bytes]: ...
def crc32_of_each(first: int, texts: list[bytes]) -> list[int]: ...
def json_rows(text: bytes, n: int, width: int) -> NDArray[np.float32] | None: ...
