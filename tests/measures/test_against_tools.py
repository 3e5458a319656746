"""The presets against the tools they are named after, on real and simulated rankings.

Where a tool differs from its preset on some edge, the test says how: it then fails the day the tool
(or the preset) changes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankloop.measures.conventions import CONVENTIONS, linear
from rankloop.measures.evaluation import evaluate

CUTOFFS = (1, 2, 3, 5, 10, 50)


def per_query(data, scores, measure, convention):
    return evaluate(data, scores, measure, convention).result(measure).values


def split(data, values):
    return np.split(np.asarray(values), data.offsets[1:-1])


def first_queries(data, scores, n=100):
    """Enough of them, for tools that take their time."""
    part = data.select(slice(0, n))
    return part, scores[: part.n_documents]


def as_runs(data, scores):
    """Judgements and scores as trec_eval takes them; -1 and minus infinity are left out."""
    qrels, run = {}, {}
    for query, rows in zip(data.query_ids, split(data, range(len(scores))), strict=True):
        qrels[str(query)] = {str(data.doc_ids[i]): int(data.y[i]) for i in rows if data.y[i] >= 0}
        run[str(query)] = {
            str(data.doc_ids[i]): float(scores[i]) for i in rows if scores[i] > -np.inf
        }
    return qrels, run


# -- trec_eval

TREC = {
    **{f"nDCG@{k}": f"ndcg_cut_{k}" for k in CUTOFFS},
    **{f"AP@{k}": f"map_cut_{k}" for k in CUTOFFS},
    **{f"P@{k}": f"P_{k}" for k in CUTOFFS},
    **{f"R@{k}": f"recall_{k}" for k in CUTOFFS},
    **{f"Success@{k}": f"success_{k}" for k in CUTOFFS},
    "nDCG": "ndcg",
    "AP": "map",
    "RR": "recip_rank",
    "P": "set_P",
    "R": "set_recall",
}


def agrees_with_trec_eval(data, scores, rel=1):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = as_runs(data, scores)
    cut = ",".join(map(str, CUTOFFS))
    wanted = {f"{m}.{cut}" for m in ("ndcg_cut", "map_cut", "P", "recall", "success")}
    wanted |= {"ndcg", "map", "recip_rank", "set_P", "set_recall"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, wanted, relevance_level=rel)
    found = evaluator.evaluate(run)
    kept = np.array([str(query) in found for query in data.query_ids])
    for ours, theirs in TREC.items():
        measure, _, cutoff = ours.partition("@")
        if rel > 1 and measure != "nDCG":
            ours = f"{measure}(rel={rel})" + (f"@{cutoff}" if cutoff else "")
        expected = [found[str(query)][theirs] for query in data.query_ids[kept]]
        values = per_query(data, scores, ours, "trec_eval")
        np.testing.assert_allclose(values[kept], expected, rtol=1e-12, atol=1e-15, err_msg=ours)
        assert not values[~kept].any()
    return kept


@pytest.mark.matrix
@pytest.mark.parametrize("rel", [1, 2])
def test_trec_eval(ranked, rel):
    assert agrees_with_trec_eval(*ranked, rel).all()


def test_trec_eval_on_unjudged_and_unretrieved_documents_and_high_grades(made_up, rng):
    data, scores = made_up([-1, 0, 0, 0, 1, 2, 40])
    scores[rng.random(len(scores)) < 0.1] = -np.inf
    kept = agrees_with_trec_eval(data, scores)
    # trec_eval skips a query with no judged, or no retrieved, document; we score it 0.
    for q in np.flatnonzero(~kept):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        assert (data.y[rows] < 0).all() or (scores[rows] == -np.inf).all()
    assert not kept.all()


def test_trec_eval_compares_scores_as_float32(made_up):
    data, scores = made_up([0, 0, 0, 1, 2])
    close = 1.0 + 1e-9 * scores  # all alike in float32
    assert agrees_with_trec_eval(data, close).all()
    exact = per_query(data, close, "AP", CONVENTIONS["trec_eval"].differing("x", ties="stable"))
    assert not np.allclose(per_query(data, close, "AP", "trec_eval"), exact)


# -- ir-measures

IR_MEASURES = ["nDCG@10", "nDCG", "AP(rel=2)", "AP(rel=2)@5", "P@5", "P(rel=2)@5"]
IR_MEASURES += ["RR", "RR(rel=2)", "R@5", "R(rel=2)@10", "Success@1", "Success(rel=2)@3"]


def test_ir_measures(ranked):
    """Its notation reads as ours, and (through trec_eval) so do its values."""
    ir_measures = pytest.importorskip("ir_measures")
    data, scores = ranked
    measures = {name: ir_measures.parse_measure(name) for name in IR_MEASURES}
    found = {
        (metric.measure, metric.query_id): metric.value
        for metric in ir_measures.iter_calc(list(measures.values()), *as_runs(data, scores))
    }
    for name, measure in measures.items():
        expected = [found[measure, str(query)] for query in data.query_ids]
        values = per_query(data, scores, name, "trec_eval")
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.slow
def test_gdeval_through_ir_measures(ranked):
    """gdeval.pl: ERR with grades to 4, nDCG with 2^r - 1; prints 5 digits, ties as trec_eval."""
    ir_measures = pytest.importorskip("ir_measures")
    if not ir_measures.gdeval.is_available():
        pytest.skip("gdeval needs perl")
    data, scores = first_queries(*ranked)
    scores = np.round(scores, 3).astype(np.float64)  # gdeval does not round to float32
    rules = CONVENTIONS["standard"].differing("gdeval", ties="doc_id", empty=0.0)
    qrels, run = as_runs(data, scores)
    for ours, theirs in (("ERR@10", "ERR@10"), ("nDCG@10", "nDCG(dcg='exp-log2')@10")):
        measure = ir_measures.parse_measure(theirs)
        found = {m.query_id: m.value for m in ir_measures.gdeval.iter_calc([measure], qrels, run)}
        values = per_query(data, scores, ours, rules)
        expected = [found[str(query)] for query in data.query_ids]
        np.testing.assert_allclose(values, expected, atol=6e-6, err_msg=ours)


# -- scikit-learn


@pytest.mark.matrix
@pytest.mark.parametrize("k", [1, 5, None])
def test_sklearn_ndcg_and_dcg(ranked, k):
    metrics = pytest.importorskip("sklearn.metrics")
    data, scores = first_queries(*ranked)
    at = "" if k is None else f"@{k}"
    ndcg = per_query(data, scores, f"nDCG{at}", "sklearn")
    dcg = per_query(data, scores, f"DCG{at}", "sklearn")
    for q, (y, s) in enumerate(zip(split(data, data.y), split(data, scores), strict=True)):
        if len(y) > 1:  # scikit-learn refuses a single document
            assert ndcg[q] == pytest.approx(metrics.ndcg_score([y], [s], k=k), rel=1e-12)
            assert dcg[q] == pytest.approx(metrics.dcg_score([y], [s], k=k), rel=1e-12)


@pytest.mark.parametrize("grades", [[0, 0, 0.3, 1.75], [0, 1, 40]], ids=["real", "40"])
def test_sklearn_takes_any_grade(made_up, grades):
    metrics = pytest.importorskip("sklearn.metrics")
    data, scores = made_up(grades, sizes=(2, 30))
    values = per_query(data, scores, "nDCG@5", "sklearn")
    pairs = zip(split(data, data.y), split(data, scores), strict=True)
    expected = [metrics.ndcg_score([y], [s], k=5) for y, s in pairs]
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_sklearn_label_ranking_average_precision(ranked):
    metrics = pytest.importorskip("sklearn.metrics")
    data, scores = first_queries(*ranked)
    values = per_query(data, scores, "AP", "sklearn")
    for q, (y, s) in enumerate(zip(split(data, data.y > 0), split(data, scores), strict=True)):
        expected = metrics.label_ranking_average_precision_score([y], [s]) if len(y) > 1 else 1.0
        # A query without a relevant document: scikit-learn's nDCG is 0, but its LRAP is 1.
        assert values[q] == (pytest.approx(expected, rel=1e-12) if y.any() else 0.0)
        assert y.any() or expected == 1.0


# -- LightGBM


def lightgbm_means(data, scores, weights=None, **parameters):
    """LightGBM's measures of scores that it is given as the start of a model without trees."""
    lightgbm = pytest.importorskip("lightgbm")
    parameters = {
        "objective": "lambdarank",
        "metric": ["ndcg", "map"],
        "eval_at": CUTOFFS,
        "verbose": -1,
        "num_threads": 1,
        **parameters,
    }
    rows = np.arange(data.n_documents, dtype=float)[:, None]
    train = lightgbm.Dataset(
        rows,
        label=data.y,
        group=data.sizes,
        weight=weights,
        init_score=np.asarray(scores, float),
        params=parameters,
    )
    return {name: value for _, name, value, _ in lightgbm.Booster(parameters, train).eval_train()}


def agree(data, scores, convention, found, names, cutoffs=CUTOFFS, rel=1e-9):
    for ours, theirs in names.items():
        for k in cutoffs:
            mean = evaluate(data, scores, f"{ours}@{k}", convention)[f"{ours}@{k}"]
            assert mean == pytest.approx(found[f"{theirs}@{k}"], rel=rel), f"{ours}@{k}"


NDCG_AND_MAP = {"nDCG": "ndcg", "AP": "map"}


def test_lightgbm(ranked):
    agree(*ranked, "lightgbm", lightgbm_means(*ranked), NDCG_AND_MAP)


def test_lightgbm_with_gains_for_grades_above_30(made_up):
    data, scores = made_up([0, 0, 1, 40])
    gains = [2.0**grade - 1.0 for grade in range(41)]
    found = lightgbm_means(data, scores, label_gain=gains)
    agree(data, scores, "lightgbm", found, {"nDCG": "ndcg"})


def test_lightgbm_validation_scores_of_a_trained_model(collections):
    lightgbm = pytest.importorskip("lightgbm")
    data = collections["MQ2008"]
    train, valid = data.select(slice(0, 500)), data.select(slice(500, None))
    parameters = {"objective": "lambdarank", "eval_at": CUTOFFS, "metric": ["ndcg", "map"]}
    parameters |= {"verbose": -1, "num_threads": 1, "num_leaves": 7}
    sets = [lightgbm.Dataset(d.X, label=d.y, group=d.sizes) for d in (train, valid)]
    booster = lightgbm.train(
        parameters, sets[0], 5, valid_sets=[sets[1]], keep_training_booster=True
    )
    found = {name: value for _, name, value, _ in booster.eval_valid()}
    agree(valid, booster.predict(valid.X, raw_score=True), "lightgbm", found, NDCG_AND_MAP)


# -- XGBoost


def xgboost_means(data, scores, metrics, weights=None, **parameters):
    xgboost = pytest.importorskip("xgboost")
    matrix = xgboost.DMatrix(
        np.zeros((data.n_documents, 1)),
        label=data.y,
        group=data.sizes,
        base_margin=np.asarray(scores, np.float32),
        weight=weights,
    )
    parameters = {"objective": "rank:ndcg", "eval_metric": metrics, "nthread": 1, **parameters}
    line = xgboost.Booster(parameters, [matrix]).eval(matrix)
    pairs = (item.removeprefix("eval-").split(":") for item in line.split()[1:])
    return {name: float(value) for name, value in pairs}


def at_cutoffs(*names):
    return [f"{name}@{k}" for name in names for k in CUTOFFS]


def test_xgboost_ndcg(ranked):
    data, scores = ranked[0], ranked[1].astype(np.float32)
    found = xgboost_means(data, scores, at_cutoffs("ndcg"))
    agree(data, scores, "xgboost", found, {"nDCG": "ndcg"})


def test_xgboost_ndcg_of_high_grades(made_up):
    data, scores = made_up([0, 0, 1, 31])  # the highest it takes with 2^r - 1
    agree(
        data, scores, "xgboost", xgboost_means(data, scores, at_cutoffs("ndcg")), {"nDCG": "ndcg"}
    )
    data, scores = made_up([0, 0, 1, 40])
    found = xgboost_means(data, scores, at_cutoffs("ndcg"), ndcg_exp_gain=False)
    agree(data, scores, CONVENTIONS["xgboost"].differing("x", gain=linear), found, {"nDCG": "ndcg"})


@pytest.mark.parametrize("sizes", [(1, 30), (190, 260)])
def test_xgboost_map_and_precision(made_up, sizes):
    data, scores = made_up([0, 0, 0, 1], sizes=sizes)  # it takes binary grades only
    found = xgboost_means(data, scores, at_cutoffs("map", "pre"))
    agree(data, scores, "xgboost", found, {"AP": "map"})
    for k in CUTOFFS:
        # pre@k divides by min(k, documents), where P@k divides by k.
        values = per_query(data, scores, f"P@{k}", "xgboost") * k / np.minimum(k, data.sizes)
        assert values.mean() == pytest.approx(found[f"pre@{k}"], rel=1e-9)


def test_xgboost_without_a_cutoff_means_the_first_32(made_up):
    data, scores = made_up([0, 0, 0, 1], sizes=(190, 260), queries=40)
    found = xgboost_means(data, scores, ["ndcg", "map"])
    for ours, theirs in NDCG_AND_MAP.items():
        mean = evaluate(data, scores, f"{ours}@32", "xgboost")[f"{ours}@32"]
        assert mean == pytest.approx(found[theirs], rel=1e-9)


@pytest.mark.parametrize("tool", ["lightgbm", "xgboost"])
def test_query_weights(made_up, tool, rng):
    data, scores = made_up([0, 0, 0, 1])
    weights = rng.integers(1, 4, len(data)).astype(float)
    if tool == "lightgbm":  # one weight per document, averaged over the query
        found = lightgbm_means(data, scores, np.repeat(weights, data.sizes))
    else:
        found = xgboost_means(data, scores, ["ndcg@5", "map@5"], weights)
    result = evaluate(data, scores, "AP@5", tool, query_weight=weights)
    assert result["AP@5"] == pytest.approx(found["map@5"], rel=1e-6)
    # Their nDCG gives a query without a relevant document weight 1, whatever its weight, in the
    # numerator alone: with small weights it exceeds 1. We weight every query as asked.
    kept = per_query(data, scores, "nDCG@5", "standard")
    barren = np.isnan(kept)
    theirs = (weights[~barren] @ kept[~barren] + barren.sum()) / weights.sum()
    assert found["ndcg@5"] == pytest.approx(theirs, rel=1e-6)
    ours = (weights[~barren] @ kept[~barren] + weights[barren].sum()) / weights.sum()
    mean = evaluate(data, scores, "nDCG@5", tool, query_weight=weights)["nDCG@5"]
    assert mean == pytest.approx(ours, rel=1e-12)


# -- ranx


@pytest.mark.filterwarnings("ignore:unsafe cast from")
def test_ranx(collections, rng):
    """Without ties, which it breaks as its sort happens to. Its RBP weighs grades: binary here."""
    ranx = pytest.importorskip("ranx")
    data = collections["OHSUMED"].select(slice(0, 20))
    binary = replace(data, y=(data.y > 0).astype(float))
    scores = rng.permutation(data.n_documents).astype(float)
    names = {"AP@5": "map@5", "RBP": "rbp.80"}  # each takes seconds to compile
    for ours, theirs in names.items():
        judged = binary if ours == "RBP" else data
        qrels, run = as_runs(judged, scores)
        found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), theirs, return_mean=False)
        order = np.argsort([str(query) for query in data.query_ids])
        values = per_query(judged, scores, ours, "trec_eval")[order]
        np.testing.assert_allclose(values, found, rtol=1e-12, err_msg=ours)
