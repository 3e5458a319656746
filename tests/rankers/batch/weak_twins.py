"""The weak-ranker rankers once more, straight from the papers: explicit pairs, plain loops."""

from __future__ import annotations

from itertools import pairwise
from math import exp, inf, log, log2, sqrt

import numpy as np

NOISE = 1e-10


def first(values):
    """Where the largest value stands; the first of those that differ by rounding only."""
    values = list(values)
    largest = max(values)
    return next(k for k, value in enumerate(values) if value >= largest * (1 - NOISE))


def pairs_of(data):
    """(better, worse, weight) of every pair, rows counted over the whole data set, by query."""
    for q, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        weight = 1.0 if data.query_weight is None else data.query_weight[q]
        w = np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight
        found = [
            (i, j, weight * w[i] * w[j])
            for i in range(begin, end)
            for j in range(begin, end)
            if data.y[i] > data.y[j] >= 0
        ]
        if sum(pair[2] for pair in found) > 0:
            yield weight, [pair for pair in found if pair[2] > 0]


def stumps_of(data):
    """(feature, threshold) between any two neighbouring values of documents that are in a pair."""
    used = sorted({row for _, pairs in pairs_of(data) for i, j, _ in pairs for row in (i, j)})
    for feature in range(data.n_features):
        values = sorted({float(data.X[row, feature]) for row in used})
        for low, high in pairwise(values):
            yield feature, float(np.float32((low + high) / 2))


def rankboost(data, rounds):
    """Figure 1, third method of section 3.2: (feature, threshold, alpha, product of Z)."""
    pairs = [pair for _, of_query in pairs_of(data) for pair in of_query]
    D = [weight for _, _, weight in pairs]
    D = [weight / sum(D) for weight in D]
    stumps, product = list(stumps_of(data)), 1.0
    for _ in range(rounds):
        worth = []
        for feature, threshold in stumps:
            h = data.X[:, feature] > threshold
            worth.append(
                sum(d * (int(h[i]) - int(h[j])) for d, (i, j, _) in zip(D, pairs, strict=True))
            )
        k = first(abs(r) for r in worth)
        if abs(worth[k]) < 1e-12:
            return
        r = max(-1 + 1e-6, min(1 - 1e-6, worth[k]))
        alpha = log((1 + r) / (1 - r)) / 2
        h = data.X[:, stumps[k][0]] > stumps[k][1]
        D = [
            d * exp(alpha * (int(h[j]) - int(h[i]))) for d, (i, j, _) in zip(D, pairs, strict=True)
        ]
        product *= sum(D)
        D = [d / sum(D) for d in D]
        yield *stumps[k], alpha, product


def fidelity(pairs, scores):
    return sum(d * (1 - sqrt(1 / (1 + exp(scores[j] - scores[i])))) for i, j, d in pairs)


def frank(data, rounds, steepest=False):
    """Every weak ranker's alpha and loss in every round: (feature, threshold, alpha, loss)."""
    queries = list(pairs_of(data))
    total = sum(weight for weight, _ in queries)
    pairs = [
        (i, j, w * weight / sum(pair[2] for pair in of_query) / total)
        for weight, of_query in queries
        for i, j, w in of_query
    ]
    stumps, scores = list(stumps_of(data)), np.zeros(len(data.y))
    for _ in range(rounds):
        before = fidelity(pairs, scores)
        tried = []
        for feature, threshold in stumps:
            h = (data.X[:, feature] > threshold).astype(int)
            right = wrong = 0.0
            for i, j, d in pairs:
                x = exp(scores[j] - scores[i])
                W = d * x / (1 + x) ** 1.5
                right += W * (h[i] > h[j])
                wrong += W * (h[i] < h[j])
            if abs(right - wrong) < 1e-14:
                tried.append((-inf, -inf, 0, inf))
                continue
            little = 1e-6 * (right + wrong)
            alpha = log((right + little) / (wrong + little)) / 2
            loss = fidelity(pairs, scores + alpha * h)
            tried.append((1 - loss, abs(right - wrong), alpha, loss))
        k = first(t[1] if steepest else t[0] for t in tried)
        _, _, alpha, loss = tried[k]
        if not loss < before - 1e-12:
            return
        scores = scores + alpha * (data.X[:, stumps[k][0]] > stumps[k][1])
        yield *stumps[k], alpha, loss


def groups(scores):
    """Tied documents, best first: lists of positions."""
    return [[i for i, s in enumerate(scores) if s == v] for v in sorted(set(scores), reverse=True)]


def ndcg(scores, grades, k):
    """nDCG@k, tied documents sharing their ranks."""
    D = [1 / log2(1 + p) if p <= k else 0.0 for p in range(1, len(grades) + 1)]
    found, rank = 0.0, 0
    for group in groups(scores):
        mean = sum(D[rank : rank + len(group)]) / len(group)
        found += sum((2 ** grades[i] - 1) * mean for i in group)
        rank += len(group)
    best = sorted(grades, reverse=True)
    return found / sum((2**g - 1) * d for g, d in zip(best, D, strict=True))


def ap(scores, grades):
    """AP, tied documents all at the last of their ranks."""
    hits = rank = 0
    total = 0.0
    for group in groups(scores):
        new = sum(grades[i] > 0 for i in group)
        hits, rank = hits + new, rank + len(group)
        total += new * hits / rank
    return total / hits


MEASURES = {"nDCG@3": lambda s, y: ndcg(s, y, 3), "AP": ap}


def judged(data):
    """(rows, grades, weight) of each query with two grades, unjudged documents left out."""
    for q, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        rows = [i for i in range(begin, end) if data.y[i] >= 0]
        weight = 1.0 if data.query_weight is None else float(data.query_weight[q])
        if len({data.y[i] for i in rows}) > 1 and weight > 0:
            yield rows, [float(data.y[i]) for i in rows], weight


def adarank(data, measure, rounds, both=True):
    """Figure 1; a weak ranker that does not help is passed over: (feature, alpha, mean)."""
    E, queries = MEASURES[measure], list(judged(data))
    weights = [weight for _, _, weight in queries]
    total = sum(weights)

    def measured(scores):
        return [E([scores[i] for i in rows], grades) for rows, grades, _ in queries]

    X = data.X.astype(float)
    weak = [(f, 1) for f in range(X.shape[1])]
    weak += [(f, -1) for f in range(X.shape[1])] if both else []
    P, scores, reached = [w / total for w in weights], np.zeros(len(X)), -inf
    values = [measured(sign * X[:, f]) for f, sign in weak]
    for _ in range(rounds):
        worth = [sum(p * e for p, e in zip(P, of_weak, strict=True)) for of_weak in values]
        left = list(range(len(weak)))
        while left:
            k = left.pop(first(worth[k] for k in left))
            f, sign = weak[k]
            e = min(worth[k], 1 - 1e-6)
            alpha = sign * log((1 + e) / (1 - e)) / 2
            now = measured(scores + alpha * X[:, f])
            mean = sum(w * e for w, e in zip(weights, now, strict=True)) / total
            if mean > reached + NOISE:
                break
        else:
            return
        scores, reached = scores + alpha * X[:, f], mean
        P = [w * exp(-e) for w, e in zip(weights, now, strict=True)]
        P = [p / sum(P) for p in P]
        yield f, alpha, mean


def ascent(data, measure, w, orders, steps):
    """Passes over the features, one an order, from weights w: (weights, mean) after each."""
    E, queries = MEASURES[measure], list(judged(data))
    X, w = data.X.astype(float), [float(v) for v in w]
    total = sum(weight for _, _, weight in queries)

    def mean(w):
        scores = [sum(a * b for a, b in zip(w, row, strict=True)) for row in X]
        return sum(v * E([scores[i] for i in rows], y) for rows, y, v in queries) / total

    reached = mean(w)
    for order in orders:
        for f in order:
            a = 0.001
            if w[f] != 0 and a > abs(w[f]) / 2:
                a = abs(w[f]) / 20
            line = [a * (2**k - 1) for k in range(1, steps + 1)]
            for trials in (line, [-t for t in line], [-w[f]]):
                means = [mean([v + t * (g == f) for g, v in enumerate(w)]) for t in trials]
                best = first(means)
                if means[best] > reached + NOISE:
                    w[f], reached = w[f] + trials[best], means[best]
                    size = sum(abs(v) for v in w)
                    w = [v / size for v in w]
                    break
        yield w, reached
