"""Plain twins of the papers' algorithms, which keep what the theorems talk about."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.simulate import separable
from rankloop.measures.evaluation import evaluate


def simulated(seed, n=60, m=8, d=6, grades=3, margin=0.5):
    rng = np.random.default_rng(seed)
    data = separable(n, rng, n_documents=m, n_features=d, n_grades=grades, margin=margin).data
    return data.shuffle(rng)


def noisy(seed, share=0.15, **options):
    data = simulated(seed, **options)
    rng = np.random.default_rng([seed, 1])
    y = data.y.copy()
    wrong = rng.random(len(y)) < share
    y[wrong] = rng.integers(0, int(y.max()) + 1, wrong.sum())
    return replace(data, y=y)


def loss_of(y, s, measure):
    data = QueryDataset.from_arrays(np.zeros((len(y), 1)), y, group=[len(y)])
    value = evaluate(data, s, measure).result(measure).values[0]
    return 0.0 if np.isnan(value) else 1.0 - value


def pairs(y):
    return [(i, j) for i, j in itertools.product(range(len(y)), repeat=2) if y[i] > y[j] >= 0]


def margin_by_pairs(data, w):
    w = np.asarray(w, float) / np.linalg.norm(w)
    gaps = [(q.X[i] - q.X[j].astype(float)) @ w for q in data for i, j in pairs(q.y)]
    return min(gaps, default=np.inf)


def slam_weights(y, measure, s):
    """Eq. 10, 11, 24, written down."""
    y = np.asarray(y, float)
    if measure == "AP":
        y = (y > 0).astype(float)
        return y / max(y.sum(), 1)
    cutoff = int(measure.partition("@")[2] or len(y))
    order = sorted(range(len(y)), key=lambda i: (-y[i], -s[i], i))
    v = np.zeros(len(y))
    for place, i in enumerate(order[:cutoff], start=1):
        v[i] = (2 ** y[i] - 1) / np.log2(1 + place)
    return v / (v.sum() or 1)


def hinge(y, s, i):
    """The hinge of document i and the document it is compared with."""
    lower = [(1 + s[j] - s[i], -j) for j in range(len(y)) if y[j] < y[i]]
    value, j = max(lower, default=(0.0, 1))  # the lowest row among equals
    return max(0.0, value), -j


@dataclass
class SlamRun:
    """Algorithm 2: f_t is given by `v` and the query, on mistakes."""

    losses: list = field(default_factory=list)
    surrogates: list = field(default_factory=list)
    gradients: list = field(default_factory=list)
    rounds: list = field(default_factory=list)

    def comparison(self, w):
        return sum(
            sum(v[i] * hinge(y, X @ w, i)[0] for i in range(len(y))) for X, y, v in self.rounds
        )


def algorithm_2(data, measure, rate, only_where_lost=True):
    """Steps where the measure's loss is not 0 (the paper), or on every mistake (ours)."""
    w, run = np.zeros(data.n_features), SlamRun()
    for query in data:
        X, y = query.X.astype(float), query.y
        y = (y > 0).astype(float) if measure == "AP" else y
        s = X @ w
        loss = loss_of(y, s, measure)
        run.losses.append(loss)
        mistake = any(s[i] <= s[j] for i, j in pairs(y))
        if not (loss > 1e-12 if only_where_lost else mistake):
            continue
        v, z, f = slam_weights(y, measure, s), np.zeros(len(w)), 0.0
        for i in range(len(y)):
            c, k = hinge(y, s, i)
            if c > 0:
                z += v[i] * (X[k] - X[i])
                f += v[i] * c
        run.surrogates.append(f)
        run.gradients.append(np.linalg.norm(z))
        run.rounds.append((X, y, v))
        w -= rate * z
    return run


@dataclass
class PairRun:
    """SOLAR, pair by pair, better grades first, then row order."""

    losses: list = field(default_factory=list)
    by_query: list = field(default_factory=list)
    measured: list = field(default_factory=list)
    deltas: list = field(default_factory=list)
    chi: list = field(default_factory=list)
    aggressive: int = 0


def solar(data, measure, *, C=None, gamma=None):
    d = data.n_features
    w, S, run = np.zeros(d), np.eye(d), PairRun()
    for query in data:
        X, y = query.X.astype(float), query.y
        run.measured.append(loss_of(y, X @ w, measure))
        total = 0.0
        for i, j in sorted(pairs(y), key=lambda p: (-y[p[0]], p[0], -y[p[1]], p[1])):
            delta = X[i] - X[j]
            loss = max(0.0, 1 - w @ delta)
            total += loss**2
            run.losses.append(loss)
            if loss == 0:
                continue
            if gamma is None:
                w += loss / (delta @ delta + 1 / (2 * C)) * delta
                continue
            run.aggressive += bool(w @ delta > 0)
            run.deltas.append(delta)
            run.chi.append(delta @ S @ delta)
            step = S @ delta
            w += loss / (run.chi[-1] + gamma) * step
            S -= np.outer(step, step) / (run.chi[-1] + gamma)
        run.by_query.append(total)
    return run
