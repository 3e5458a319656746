"""Plain definitions of every online ranker, one query at a time: the twins of the compiled core.

Written from the docstrings and the papers, in float64, with no thought for speed. A twin has the
weights `w` and a method `learn(X, y)` that says whether they changed.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax


def judged(X, y):
    """The judged documents, in row order."""
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    return X[y >= 0], y[y >= 0]


def pairs(y):
    """All pairs (i, j) with y_i > y_j: better grades first, then in row order."""
    order = sorted(range(len(y)), key=lambda i: (-y[i], i))
    return [(i, j) for i in order for j in order if y[i] > y[j]]


def tiled_pairs(y, size):
    """The same pairs, `size` documents against `size` others at a time."""
    order = sorted(range(len(y)), key=lambda i: (-y[i], i))
    parts = [order[first : first + size] for first in range(0, len(order), size)]
    tiles = [(parts[p], parts[q]) for p in range(len(parts)) for q in range(p, len(parts))]
    return [(i, j) for better, others in tiles for i in better for j in others if y[i] > y[j]]


def pairs_by_rows(y):
    """All pairs (i, j) with y_i > y_j: the worse one in row order, then the better one."""
    return [(j, i) for i in range(len(y)) for j in range(len(y)) if y[j] > y[i]]


PAIRS = {"grades": pairs, "rows": pairs_by_rows}


def is_mistake(s, y):
    return any(s[i] <= s[j] for i, j in pairs(y))


class Twin:
    """What all twins share: weights of 0, a step size that may decay, a count of the rounds."""

    def __init__(self, d, rate=1.0, decay=0.0):
        self.w, self.rate, self.decay, self.rounds = np.zeros(d), rate, decay, 0

    def learn(self, X, y):
        before = self.w.copy()
        self.eta = self.rate / (1 + self.rounds) ** self.decay
        self.rounds += 1
        X, y = judged(X, y)
        if len(y):
            self.learn_judged(X, y)
        return not np.array_equal(before, self.w)


class SlamTwin(Twin):
    """Algorithm 2 with eq. 9-11, 16, 24; every maximum by looking at every document."""

    def __init__(
        self,
        d,
        measure="nDCG",
        rate=0.01,
        decay=0.0,
        margin=1.0,
        steps_on="mistakes",
        within_grade="score",
    ):
        super().__init__(d, rate, decay)
        self.measure, self.margin = measure, margin
        self.steps_on, self.within_grade = steps_on, within_grade

    def learn_judged(self, X, y):
        self.w = self.w - self.eta * self.subgradient(X, y)

    def is_round_to_step(self, s, y):
        if self.steps_on == "mistakes" or "@" not in self.measure:
            return is_mistake(s, y)
        cutoff = int(self.measure.partition("@")[2])
        ranked = sorted(range(len(y)), key=lambda i: (-s[i], y[i]))  # ties in the worse order
        found = [2 ** y[i] - 1 for i in ranked[:cutoff]]
        return found != [2**grade - 1 for grade in sorted(y, reverse=True)[:cutoff]]

    def subgradient(self, X, y):
        s = X @ self.w
        if self.measure == "AP":
            y = (y > 0).astype(float)
        if not self.is_round_to_step(s, y):
            return np.zeros(len(self.w))
        v = self.weights(s, y)
        if self.within_grade == "mean":
            v = np.array([v[y == grade].mean() for grade in y])
        z = np.zeros(len(self.w))
        for i in range(len(y)):
            lower = [j for j in range(len(y)) if y[j] < y[i]]
            if not lower:
                continue
            k = min(lower, key=lambda j: (-s[j], j))
            if self.margin + s[k] - s[i] > 0:
                z += v[i] * (X[k] - X[i])
        return z

    def weights(self, s, y):
        order = sorted(range(len(y)), key=lambda i: (-y[i], -s[i], i))
        v = np.zeros(len(y))
        if self.measure == "AP":
            v[y > 0] = 1 / (y > 0).sum()
            return v
        cutoff = int(self.measure.partition("@")[2] or len(y))
        for place, i in enumerate(order[:cutoff], 1):
            v[i] = (2 ** y[i] - 1) / math.log2(1 + place)
        return v / v.sum()


class MinimaxTwin(Twin):
    """Algorithm 3 with eq. 27, 29."""

    def learn_judged(self, X, y):
        s = X @ self.w
        if is_mistake(s, y):
            i, j = min(pairs(y), key=lambda p: (s[p[0]] - s[p[1]], p))
            self.w = self.w + self.eta * (X[i] - X[j])


class ListNetTwin(Twin):
    def __init__(self, d, rate=1.0, decay=0.0, one_grade=False):
        super().__init__(d, rate, decay)
        self.one_grade = one_grade

    def learn_judged(self, X, y):
        if len(set(y)) > 1 or self.one_grade:
            self.w = self.w - self.eta * X.T @ (softmax(X @ self.w) - softmax(y))


class XENDCGTwin(Twin):
    def __init__(self, d, rate=1.0, decay=0.0, gamma=1.0):
        super().__init__(d, rate, decay)
        self.gamma = gamma

    def learn_judged(self, X, y):
        gains = 2**y - self.gamma
        if len(set(y)) > 1:
            self.w = self.w - self.eta * X.T @ (softmax(X @ self.w) - gains / gains.sum())


class NewtonTwin(Twin):
    """Literal Newton steps; with `steps=None` the minimum, found by a general solver."""

    def __init__(self, d, prior=10.0, steps=3, power=0.5, gamma=1.0, covariance="full", wide=0):
        super().__init__(d)
        self.steps, self.power, self.gamma, self.covariance = steps, power, gamma, covariance
        self.first = d - wide
        self.L = prior * np.diag([1.0] * self.first + [0.25] * wide)

    def learn_judged(self, X, y):
        if len(set(y)) < 2:
            return
        phi = (2**y - self.gamma) / (2**y - self.gamma).sum()
        c = (2**y - 1).sum() ** self.power
        w, L = self.w, self.L

        def objective(v):
            return (v - w) @ L @ (v - w) / 2 - c * phi @ log_softmax(X @ v)

        def gradient(v):
            return L @ (v - w) + c * X.T @ (softmax(X @ v) - phi)

        def curvature(v):
            rho = softmax(X @ v)
            return c * X.T @ (np.diag(rho) - np.outer(rho, rho)) @ X

        v = w
        if self.steps is None:
            found = minimize(
                objective,
                v,
                jac=gradient,
                hess=lambda v: L + curvature(v),
                method="trust-exact",
                options={"gtol": 1e-10},
            )
            v = found.x
            assert np.abs(gradient(v)).max() < 1e-5 * max(
                1, c
            )  # as near as BLAS's rounding lets it
        for _ in range(self.steps or 0):
            v = v - np.linalg.solve(L + curvature(v), gradient(v))
        self.w, self.L = v, L + curvature(v)
        if self.covariance == "diagonal":
            self.L = np.diag(np.diag(self.L))
        exact = self.L[: self.first, : self.first].copy()  # of wide columns, the diagonal is kept
        if self.first < len(w):
            self.L = np.diag(np.diag(self.L))
            self.L[: self.first, : self.first] = exact


class PRankTwin(Twin):
    """Crammer and Singer 2001; grade y is reached by thresholds 1, ..., y."""

    def __init__(self, d):
        super().__init__(d)
        self.b = []

    def learn_judged(self, X, y):
        for x, grade in zip(X, y, strict=True):
            while len(self.b) < grade:
                self.b.append(max(self.b, default=0.0))
            score = self.w @ x
            if sum(score >= b for b in self.b) == grade:
                continue
            sides = [1 if grade >= r else -1 for r in range(1, len(self.b) + 1)]
            moves = [
                side if (score - b) * side <= 0 else 0
                for b, side in zip(self.b, sides, strict=True)
            ]
            self.w = self.w + sum(moves) * x
            self.b = [b - move for b, move in zip(self.b, moves, strict=True)]


class PairwiseTwin(Twin):
    def __init__(self, d, pair_order="grades"):
        super().__init__(d)
        self.pairs = PAIRS[pair_order]

    def learn_judged(self, X, y):
        for i, j in self.pairs(y):
            if self.w @ (X[i] - X[j]) <= 0:
                self.w = self.w + (X[i] - X[j])


class CommitteeTwin(Twin):
    """Elsas et al. 2008; the current hypothesis takes part by its say so far."""

    def __init__(self, d, size=20, pair_order="grades"):
        super().__init__(d)
        self.pairs = PAIRS[pair_order]
        self.current, self.streak = np.zeros(d), 0
        self.seats = [(0, np.zeros(d))] * size

    def learn_judged(self, X, y):
        for i, j in self.pairs(y):
            if self.current @ (X[i] - X[j]) > 0:
                self.streak += 1
                continue
            weakest = min(range(len(self.seats)), key=lambda seat: self.seats[seat][0])
            if self.streak > self.seats[weakest][0]:
                self.seats[weakest] = (self.streak, self.current)
            self.current, self.streak = self.current + (X[i] - X[j]), 0
        voters = [*self.seats, (self.streak, self.current)]
        total = sum(say for say, _ in voters)
        if total:
            self.w = sum(say * w for say, w in voters) / total
        elif pairs(y):
            self.w = self.current


class SolarITwin(Twin):
    """Eq. 4-6."""

    def __init__(self, d, C=1e-5, tile=None):
        super().__init__(d)
        self.C, self.tile = C, tile

    def learn_judged(self, X, y):
        for i, j in pairs(y) if self.tile is None else tiled_pairs(y, self.tile):
            delta = X[i] - X[j]
            loss = max(0.0, 1 - self.w @ delta)
            self.w = self.w + loss / (delta @ delta + 1 / (2 * self.C)) * delta


class SolarIITwin(Twin):
    """Eq. 7-9 with the covariance S itself, full or only its diagonal."""

    def __init__(self, d, gamma=1e4, covariance="full", tile=None):
        super().__init__(d)
        self.tile = tile
        self.gamma, self.covariance, self.S = gamma, covariance, np.eye(d)
        self.L, self.h = np.eye(d), np.zeros(d)  # sums over pairs, to compare with

    def learn_judged(self, X, y):
        for i, j in pairs(y) if self.tile is None else tiled_pairs(y, self.tile):
            delta = X[i] - X[j]
            loss = max(0.0, 1 - self.w @ delta)
            if loss == 0:
                continue
            step = self.S @ delta
            beta = delta @ step + self.gamma
            self.w = self.w + loss / beta * step
            self.S = self.S - np.outer(step, step) / beta
            if self.covariance == "diagonal":
                self.S = np.diag(np.diag(self.S))
            self.L += np.outer(delta, delta) / self.gamma
            self.h += delta / self.gamma
