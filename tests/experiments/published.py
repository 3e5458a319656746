"""Small collections in the layouts in which the real ones are published."""

from __future__ import annotations

import io

import numpy as np

import rankloop as rl
from rankloop.data.folds import letor_folds

FEATURES = {"OHSUMED": 45, "MQ2007": 46, "MQ2008": 46, "Yandex": 20}
GOV = [f"{year}_{task}_dataset" for year in (2003, 2004) for task in ("hp", "np", "td")]


def queries(first, count, features, top=2):
    """Make queries of six documents; numbers of queries do not repeat."""
    rng = np.random.default_rng(first)
    X = rng.random((6 * count, features)).round(3)
    y = np.tile(np.arange(6) % (top + 1), count)
    return rl.QueryDataset.from_arrays(X, y, qid=np.repeat(np.arange(first, first + count), 6))


def write(data, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    rl.write_letor(data, path)


def write_folds(folder, features, names=("train", "vali", "test"), count=4):
    """Write Fold1 to Fold5; fold i tests on part i, and the part before it validates."""
    made = [queries(100 * k, count, features) for k in range(1, 6)]
    for i in range(5):
        turned = [*made[i + 1 :], *made[: i + 1]]
        split = [rl.data.concat(turned[:-2]), turned[-2], turned[-1]]
        for name, part in zip(names, split, strict=True):
            write(part, folder / f"Fold{i + 1}" / f"{name}.txt")


def write_imat(folder):
    """Write judged lines that end with their query, and lines without judgements beside them."""
    text = io.StringIO()
    for number, query in enumerate(queries(1, 20, FEATURES["Yandex"], top=4)):
        for x, y in zip(query.X, query.y, strict=True):
            row = " ".join(f"{j}:{value:g}" for j, value in enumerate(x, start=1))
            text.write(f"{y:g} {row} # {number}\n")
    folder.mkdir(parents=True)
    (folder / "imat2009_learning.txt").write_text(text.getvalue())
    (folder / "imat2009_test.txt").write_text("0 1:0.5 # 900\n")


def write_all(root):
    """Write every collection that an experiment reads."""
    old = ("trainingset", "validationset", "testset")
    write_folds(root / "OHSUMED" / "QueryLevelNorm", FEATURES["OHSUMED"], old)
    for name in ("MQ2007", "MQ2008"):
        write_folds(root / name, FEATURES[name])
    for name in GOV:
        write_folds(root / "Gov" / "QueryLevelNorm" / name, 64, old)
    for name in ("MSLR-WEB10K", "MSLR-WEB30K"):
        write_folds(root / name, 136, count=12)  # a leaf of XE_NDCG's trees has 50 documents
    for part, first, count in (("train", 1, 36), ("valid", 40, 12), ("test", 60, 12)):
        write(queries(first, count, 30, top=4), root / "ltrc_yahoo" / f"set1.{part}.txt")
        write(queries(first + 100, 9, 30, top=4), root / "ltrc_yahoo" / f"set2.{part}.txt")
    write_imat(root / "imat2009")


def n_queries(folder):
    """Count the queries of a folder's first fold, all parts together."""
    return sum(part.n_queries for part in letor_folds(folder)[0].read())
