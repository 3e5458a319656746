"""Digests of every online ranker after a fixed stream. Run it to print them as JSON.

`python tests/rankers/golden.py > tests/rankers/golden.json` writes the expected ones anew, which
is right only where a change of arithmetic was meant.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from rankloop.clicks.rankers.pdgd import PDGD
from rankloop.data.dataset import QueryDataset
from rankloop.data.sparse_rows import SparseRows
from rankloop.rankers.registry import make_ranker, online_names
from rankloop.rankers.wrappers.prepared import Prepared

OTHERS = (
    "slam:measure=AP,average=true",
    "slam:rate=0.3,decay=0.7",
    "slam:measure=nDCG@3,steps_on=loss",
    "slam:within_grade=mean",
    "auto:adapt=False",
    "online-listnet:one_grade=True",
    "pairwise:pair_order=rows",
    "committee:pair_order=rows",
    "prepared:maps=['raw','rank']",
    "described",
    "prepared:maps=['centre']",
    "online-keeprank:targets=graded,budget=40",
    "solar-ii:covariance=diagonal",
    "solar-ii:gamma=10",
    "solar-ii:covariance=low-rank,directions=5",
    "newton:covariance=low-rank,directions=5",
    "newton:covariance=diagonal",
    "committee:average=true",
    "predtron:geometry=rnorm",
    "predtron:rule=loss-driven,f=1/i",
    "prepared:maps=['raw','rank','minmax','square'],scale=standard",
    "prepared:maps=['raw'],scale=log",
    "prepared:maps=['nystrom(rbf(1),20)']",
    "prepared:maps=['fourier(rbf(1),20)']",
    "prepared:maps=['orthogonal(rbf(1),20)']",
    *(f"kernel-slam:budget=40,removal={r}" for r in ("forgetron", "random", "merging")),
    "kernel-slam:kernel=poly(3),budget=40",
    "kernel-solar-i:kernel=chi2(1)+linear,budget=40",
    "kernel-minimax:budget=40,average=true",
)

CLICKS = "PDGD with prepared features"


def stream(weighted: bool = False) -> QueryDataset:
    """Make queries of whole numbers divided by powers of 2: the same bits on every machine."""
    rng = np.random.default_rng(7)
    sizes = rng.integers(1, 60, 25)
    n = int(sizes.sum())
    X = (rng.integers(0, 1 << 16, (n, 23)) / (1 << 16)).astype(np.float32)
    y = np.minimum(rng.integers(-1, 5, n) + (X[:, 0] > 0.5), 4).astype(np.float64)
    return QueryDataset.from_arrays(
        X,
        y,
        group=sizes,
        sample_weight=rng.integers(0, 4, n) / 2 if weighted else None,
        query_weight=rng.integers(0, 4, len(sizes)) / 2 if weighted else None,
    )


SPARSE = (
    "slam",
    "slam:measure=AP,average=true",
    "perceptron",
    "minimax",
    "online-listnet",
    "online-xendcg",
    "prank",
    "solar-i:C=0.1",
    "solar-ii:covariance=diagonal",
)
"""Rankers of sparse rows."""


def sparse_stream() -> QueryDataset:
    """Make queries of a few nonzeros among many features; one list is long."""
    rng = np.random.default_rng(8)
    sizes = np.array([*rng.integers(1, 60, 80), 600])
    n, d = int(sizes.sum()), 5003
    lengths = rng.integers(0, 12, n)
    columns = [np.sort(rng.choice(d, k, replace=False)) for k in lengths]
    X = SparseRows(
        (rng.integers(1, 1 << 16, lengths.sum()) / (1 << 16)).astype(np.float32),
        np.concatenate(columns).astype(np.int32),
        np.concatenate(([0], np.cumsum(lengths))),
        d,
    )
    return QueryDataset.from_arrays(X, rng.integers(-1, 5, n).astype(np.float64), group=sizes)


def digests(queries: int | None = None) -> dict[str, str]:
    """Return the digest of each ranker, its scores included.

    queries : how many of the dense ones are learnt; None: all
    """
    plain, weighted = (made.select(slice(0, queries)) for made in (stream(), stream(weighted=True)))
    found = {}
    for name in (*online_names(), *OTHERS, CLICKS):
        ranker = Prepared(PDGD(), maps=["minmax"]) if name == CLICKS else make_ranker(name)
        scores = ranker.predict_then_learn(plain)
        takes_weights = "predtron" not in name
        ranker.partial_fit(weighted if takes_weights else plain)
        found[name] = f"{ranker.digest()} {hash_of(scores)} {hash_of(ranker.predict(plain))}"
    sparse = sparse_stream()
    for name in SPARSE:
        ranker = make_ranker(name)
        scores = ranker.predict_then_learn(sparse)
        ranker.partial_fit(sparse)
        said = f"{ranker.digest()} {hash_of(scores)} {hash_of(ranker.predict(sparse))}"
        found[f"sparse {name}"] = said
    return found


def hash_of(scores: np.ndarray) -> str:
    """Return a short digest of scores."""
    from hashlib import blake2b

    return blake2b(scores.tobytes(), digest_size=8).hexdigest()


if __name__ == "__main__":
    print(json.dumps(digests(*map(int, sys.argv[1:])), indent=1))
