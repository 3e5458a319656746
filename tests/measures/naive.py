"""Plain definitions of every measure, one query at a time: the twins of the compiled core.

Written from the documentation alone, with no thought for speed. A query is a list of grades, one of
scores and one of document ids (or None); a value is NaN if the query is left out of the mean.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from rankloop.measures.conventions import as_convention
from rankloop.measures.measure import parse

NAN = float("nan")


def orders(scores, ids, ties):
    """All rankings that the rule for ties allows, of the retrieved documents, best first."""
    retrieved = [i for i, score in enumerate(scores) if score > -math.inf]
    best_first = sorted(retrieved, key=lambda i: -scores[i])
    groups = [list(tied) for _, tied in itertools.groupby(best_first, key=lambda i: scores[i])]
    if ties == "doc_id":
        groups = [sorted(group, key=lambda i: ids[i], reverse=True) for group in groups]
    if ties != "averaged":
        return [[i for group in groups for i in group]]
    choices = itertools.product(*(itertools.permutations(group) for group in groups))
    return [[i for group in choice for i in group] for choice in choices]


def dcg(gains, k, discount):
    discounts = discount(np.arange(1.0, len(gains) + 1)).tolist()
    return sum(gain * by for gain, by in zip(gains[:k], discounts[:k], strict=True))


def average_precision(relevant, k, n_relevant, by_cutoff):
    hits = precisions = 0.0
    for p, is_relevant in enumerate(relevant[:k], 1):
        if is_relevant:
            hits += 1
            precisions += hits / p
    return precisions / (min(k, n_relevant) if by_cutoff else n_relevant)


def reciprocal_rank(relevant, k):
    return next((1.0 / p for p, is_relevant in enumerate(relevant[:k], 1) if is_relevant), 0.0)


def expected_reciprocal_rank(grades, k, top):
    """Chapelle et al. 2009: the user stops at a document with probability (2^r - 1) / 2^top."""
    total, still_there = 0.0, 1.0
    for p, grade in enumerate(grades[:k], 1):
        stops = (2.0**grade - 1.0) / 2.0**top
        total += still_there * stops / p
        still_there *= 1.0 - stops
    return total


def rank_biased_precision(relevant, k, persistence):
    return (1.0 - persistence) * sum(
        persistence**i for i, is_relevant in enumerate(relevant[:k]) if is_relevant
    )


def ranking_average_precision(relevant, scores):
    """scikit-learn's AP with ties: tied documents all stand at the last of their ranks."""
    precisions = [
        sum(r and s >= score for r, s in zip(relevant, scores, strict=True))
        / sum(s >= score for s in scores)
        for is_relevant, score in zip(relevant, scores, strict=True)
        if is_relevant and score > -math.inf
    ]
    return sum(precisions) / sum(relevant)


def pair_accuracy(grades, scores):
    """Share of the judged pairs of unlike grade in order of score; equal scores are half right."""
    points = [
        1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
        for i, j in itertools.permutations(range(len(grades)), 2)
        if grades[i] > grades[j] >= 0
    ]
    return sum(points) / len(points) if points else NAN


def judged(measure, rules, grades):
    """Whether each grade is relevant: by the measure's `rel`, the convention's, else above 0."""
    rel = measure.parameter("rel") or rules.rel
    return [grade > 0 if rel is None else grade >= rel for grade in grades]


def one_order(measure, rules, grades, order):
    """The measure of one ranking; NaN if there is nothing relevant to find."""
    k = measure.cutoff or max(len(grades), 1)
    ranked = [grades[i] for i in order]
    name = measure.name
    if name in ("DCG", "nDCG"):
        gains = [float(gain) for gain in rules.gain(np.array(grades, float))]
        ideal = dcg(sorted(gains, reverse=True), k, rules.discount)
        if ideal == 0:
            return NAN
        value = dcg([gains[i] for i in order], k, rules.discount)
        return value if name == "DCG" else value / ideal
    if name == "ERR":
        top = measure.parameter("max")
        return expected_reciprocal_rank(ranked, k, top) if any(grades) else NAN
    relevant = judged(measure, rules, ranked)
    n_relevant = sum(judged(measure, rules, grades))
    if n_relevant == 0:
        return NAN
    if name == "AP":
        return average_precision(relevant, k, n_relevant, rules.ap_by_cutoff)
    if name == "RBP":
        return rank_biased_precision(relevant, k, measure.parameter("p"))
    found = sum(relevant[:k])
    return {
        "P": found / (measure.cutoff or max(len(ranked), 1)),
        "R": found / n_relevant,
        "RR": reciprocal_rank(relevant, k),
        "Success": float(found > 0),
    }[name]


def average_over_orders(measure, rules, grades, scores, ids):
    if measure.name == "AP" and rules.ties == "averaged":
        relevant = judged(measure, rules, grades)
        return ranking_average_precision(relevant, scores) if any(relevant) else NAN
    results = [one_order(measure, rules, grades, o) for o in orders(scores, ids, rules.ties)]
    return math.fsum(results) / len(results)


def query_value(measure, convention, grades, scores, ids=None):
    """The measure of one query, NaN if the convention leaves it out."""
    measure, rules = parse(measure), as_convention(convention)
    if rules.ties == "doc_id":
        scores = np.asarray(scores, np.float32).tolist()
    if measure.name == "PairAcc":
        value = pair_accuracy(grades, scores)
    else:
        grades = [max(float(grade), 0.0) for grade in grades]  # unjudged: not relevant
        value = average_over_orders(measure, rules, grades, scores, ids)
    if math.isnan(value):
        return NAN if rules.empty is None else rules.empty if measure.family.ratio else 0.0
    short = measure.cutoff is not None and len(grades) < measure.cutoff
    return 0.0 if rules.short_lists == "zero" and measure.name == "nDCG" and short else value


def values(measure, convention, data, scores):
    """One value per query of a QueryDataset."""
    found = []
    for q in range(len(data)):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        ids = None if data.doc_ids is None else list(data.doc_ids[rows])
        grades, ranked_by = data.y[rows].tolist(), scores[rows].tolist()
        found.append(query_value(measure, convention, grades, ranked_by, ids))
    return np.array(found)
