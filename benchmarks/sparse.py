"""Sparse rows: reading, learning from pairs beside Vowpal Wabbit, and memory per nonzero."""

from __future__ import annotations

import tempfile
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_svmlight_file

import rankloop as rl
from benchmarks.harness import Contender, Report, Settings, attempt, interleave, optional
from rankloop.data.sparse_rows import SparseRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.data.dataset import QueryDataset

FEATURES, NONZEROS, DOCUMENTS = 1_000_000, 50, 40
READ, THEIRS = "read_letor(sparse=True)", "scikit-learn, load_svmlight_file"
SLAM, SOLAR_I, DIAGONAL = "Slam", "SolarI", "SolarII, diagonal"
XENDCG, PREDICT = "XENDCG, to the optimum, on a tenth", "Slam.predict"
WABBIT = "Vowpal Wabbit"


def run(settings: Settings) -> Report:
    n_queries = 60 if settings.quick else 1500
    data = made_up(n_queries)
    nonzeros = sparse(data).nnz
    few = data.select(slice(0, max(1, n_queries // 10)))
    pairs, report = n_pairs(data), Report("sparse", "")
    report.title = (
        f"{data.n_documents:,} documents of {NONZEROS} nonzeros among {FEATURES:,} features, "
        f"{pairs:,} pairs"
    )
    with tempfile.TemporaryDirectory() as folder:
        path, part = Path(folder, "sparse.txt"), Path(folder, "part.txt")
        rl.write_letor(data, path)
        rl.write_letor(few, part)
        megabytes = path.stat().st_size / 1e6
        share = part.stat().st_size / path.stat().st_size
        slam = rl.Slam("nDCG@10", average=False).fit(data)
        contenders = [
            Contender(READ, lambda: rl.read_letor(path, sparse=True)),
            Contender(THEIRS, lambda: load_svmlight_file(part, query_id=True), READ, share),
            Contender(SLAM, lambda: rl.Slam("nDCG@10", average=False).partial_fit(data)),
            Contender(SOLAR_I, lambda: rl.SolarI(C=0.1).partial_fit(data)),
            Contender(DIAGONAL, lambda: diagonal().partial_fit(few), share=n_pairs(few) / pairs),
            Contender(PREDICT, lambda: slam.predict(data)),
            Contender(XENDCG, lambda: rl.XENDCG().fit(few)),
            *wabbit(few, pairs, report),
        ]
        report.timings = interleave(contenders, settings.repeat)
        read = rl.read_letor(path, sparse=True)
    if reading := report[READ]:
        report.notes.append(f"reading: {megabytes / reading.best:.0f} MB/s of {megabytes:.0f} MB")
    for name in (SLAM, SOLAR_I, DIAGONAL, WABBIT):
        if timing := report[name]:
            report.notes.append(f"{name}: {pairs / timing.best / 1e6:.3g} million pairs a second")
    weights = slam.weights_.nbytes
    report.notes.append(
        f"{read.nbytes / nonzeros:.2f} bytes a nonzero for the data, {weights:,} for the weights"
    )
    report.hold("bytes a nonzero", read.nbytes / nonzeros, 9, at_least=False)
    for ours in (SLAM, SOLAR_I):
        report.hold(f"{WABBIT} / {ours}", report.ratio(WABBIT, ours), 10)
        cpu = report.ratio(WABBIT, ours, "cpu")
        report.hold(f"{WABBIT} / {ours}, processor time", cpu, 10)
    report.hold(f"{THEIRS} / {READ}", report.ratio(THEIRS, READ), 5)
    return report


def made_up(n_queries: int) -> QueryDataset:
    """Make queries as of words: common columns are frequent, and some of them matter."""
    rng = np.random.default_rng(0)
    n = n_queries * DOCUMENTS
    drawn = (FEATURES ** rng.random((n, 2 * NONZEROS))).astype(np.int64) - 1  # as words are
    columns = np.zeros((n, NONZEROS), np.int32)
    for i, row in enumerate(drawn):
        own = np.unique(row)
        while len(own) < NONZEROS:
            own = np.union1d(own, rng.integers(0, FEATURES, NONZEROS))
        columns[i] = np.sort(rng.choice(own, NONZEROS, replace=False))
    values = rng.integers(1, 1000, (n, NONZEROS)).astype(np.float32) / 1000
    useful = np.where(np.arange(FEATURES) % 3 == 0, rng.normal(size=FEATURES), 0)
    merit = (useful[columns] * values).sum(axis=1) + rng.normal(size=n)
    grades = np.digitize(merit, np.quantile(merit, [0.5, 0.75, 0.9, 0.97])).astype(np.float64)
    X = SparseRows(
        values.ravel(), columns.ravel(), np.arange(0, n * NONZEROS + 1, NONZEROS), FEATURES
    )
    return rl.QueryDataset.from_arrays(X, grades, group=[DOCUMENTS] * n_queries)


def diagonal() -> rl.SolarII:
    return rl.SolarII(covariance="diagonal")


def sparse(data: QueryDataset) -> SparseRows:
    assert isinstance(data.X, SparseRows)
    return data.X


def n_pairs(data: QueryDataset) -> int:
    return sum(int((q.y[:, None] > q.y[None, :]).sum()) for q in data)


def wabbit(data: QueryDataset, pairs: int, report: Report) -> list[Contender]:
    """Give Vowpal Wabbit differences of pairs, parsed before."""
    vw = optional("vowpalwabbit", report)
    if vw is None:
        return []
    lines = list(islice(differences(data), 4000))
    space = vw.Workspace("--loss_function hinge --quiet -b 20")
    examples = [space.parse(line) for line in lines]

    def learn_examples() -> None:
        for example in examples:
            space.learn(example)

    note = "Workspace.learn of the differences of pairs, parsed before; on a part of them"
    ranker = Contender(WABBIT, learn_examples, SOLAR_I, len(lines) / pairs, note)
    return attempt(ranker, report)


def differences(data: QueryDataset) -> Iterator[str]:
    """Yield the difference of each pair, better less worse, as Vowpal Wabbit writes it."""
    for query in data:
        rows = sparse_rows_of(query.X)
        for i, j in zip(*np.nonzero(query.y[:, None] > query.y[None, :]), strict=True):
            delta = dict(rows[i])
            for column, value in rows[j]:
                delta[column] = delta.get(column, 0.0) - value
            yield "1 | " + " ".join(f"{c}:{v:.6g}" for c, v in delta.items() if v)


def sparse_rows_of(X: object) -> list[list[tuple[int, float]]]:
    assert isinstance(X, SparseRows)
    bounds = (X.indptr - X.indptr[0]).tolist()
    entries = list(zip(X.own_indices.tolist(), X.values.tolist(), strict=True))
    return [entries[a:b] for a, b in pairwise(bounds)]
