"""Measures: what they compute (against plain twins), how they parse and print."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import MeasureError
from rankloop.measures import measure as measures
from rankloop.measures.conventions import CONVENTIONS
from rankloop.measures.evaluation import evaluate
from rankloop.measures.measure import FAMILIES, Measure, parse, parse_all

REL = ["", "(rel=2)", "(rel=0.5)"]
CASES = [f"{name}{k}" for name in ("DCG", "nDCG") for k in ("", "@1", "@3", "@10")]
CASES += [f"{n}{rel}{k}" for n in ("AP", "P", "R", "RR") for rel in REL for k in ("", "@1", "@3")]
CASES += [f"Success{rel}@{k}" for rel in REL for k in (1, 3, 300)]
CASES += ["RBP", "RBP(p=0.5)", "RBP(p=0.95, rel=2)@3", "ERR(max=40)@3", "PairAcc"]
NOT_WITH_AVERAGED_TIES = ("RR", "ERR", "RBP", "Success")


def defined(convention):
    """The cases that exist under a convention."""
    if CONVENTIONS[convention].ties != "averaged":
        return CASES
    parsed = ((case, parse(case)) for case in CASES)
    return [
        case
        for case, m in parsed
        if m.name not in NOT_WITH_AVERAGED_TIES and not (m.name == "AP" and m.cutoff)
    ]


@st.composite
def rankings(draw, max_documents=6):
    """A few small queries: ties, unjudged and unretrieved documents, empty and barren queries."""
    sizes = draw(st.lists(st.integers(0, max_documents), min_size=1, max_size=4))
    n = sum(sizes)
    grade = st.sampled_from([-1, 0, 0, 0, 1, 1, 2, 3, 4, 0.5, 1.7, 40])
    score = st.one_of(
        st.sampled_from([0.0, 1.0, 1.0 + 1e-9, -2.5, -np.inf]), st.floats(-1e6, 1e6, width=32)
    )
    y = draw(st.lists(grade, min_size=n, max_size=n))
    scores = draw(st.lists(score, min_size=n, max_size=n))
    ids = [f"d{i}" for i in draw(st.permutations(range(n)))]
    data = QueryDataset.from_arrays(np.zeros((n, 1)), y, group=sizes, doc_ids=ids)
    return data, np.array(scores, draw(st.sampled_from([np.float32, np.float64])))


def check_against_definition(naive, convention, data, scores):
    cases = defined(convention)
    if "RR" in cases:  # ERR too; under a higher `max` than the data needs it is next to 0
        top = max(data.y.max(initial=0), 4)
        cases = [*cases, f"ERR(max={top:g})", f"ERR(max={top:g})@3"]
    for result in evaluate(data, scores, cases, convention):
        expected = naive.values(result.measure, convention, data, scores)
        name = str(result.measure)
        np.testing.assert_allclose(result.values, expected, rtol=1e-12, atol=0, err_msg=name)


@pytest.mark.parametrize("convention", CONVENTIONS)
@settings(max_examples=50)
@given(rankings())
def test_every_measure_agrees_with_its_definition(naive, convention, ranking):
    data, scores = ranking
    check_against_definition(naive, convention, data, scores)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_lists_agree_with_the_definition(naive, convention, dtype, rng):
    sizes = [191, 192, 193, 0, 1, 400]
    n = sum(sizes)
    y = rng.choice([-1, 0, 0, 0, 1, 2, 3.5, 4], n)
    scores = rng.permutation(n).astype(dtype)
    if CONVENTIONS[convention].ties == "averaged":
        for first in (5, 200, 700):  # few ties, for the twin tries their orders
            scores[first : first + 3] = scores[first]
    else:
        scores = np.round(scores, -1)
    scores[rng.random(n) < 0.05] = -np.inf
    ids = [f"d{i}" for i in rng.permutation(n)]
    data = QueryDataset.from_arrays(np.zeros((n, 1)), y, group=sizes, doc_ids=ids)
    check_against_definition(naive, convention, data, scores)


@settings(max_examples=50)
@given(rankings(max_documents=30), st.sampled_from(["standard", "letor4", "lightgbm", "sklearn"]))
def test_increasing_maps_of_scores_change_nothing(ranking, convention):
    data, scores = ranking
    dense = np.unique(scores, return_inverse=True)[1].astype(np.float64)  # 0, 1, 2: exact maps
    dense[scores == -np.inf] = -np.inf
    before = evaluate(data, scores, defined(convention), convention)
    for mapped in (dense, 3.0 * dense - 7.0, np.exp2(dense / 64.0), dense.astype(np.float32)):
        mapped[scores == -np.inf] = -np.inf
        after = evaluate(data, mapped, defined(convention), convention)
        for old, new in zip(before, after, strict=True):
            np.testing.assert_array_equal(old.values, new.values, err_msg=str(old.measure))


@pytest.mark.parametrize("convention", CONVENTIONS)
@settings(max_examples=25)
@given(sizes=st.lists(st.integers(1, 250), min_size=1, max_size=3), seed=st.integers(0, 2**32))
def test_permuting_documents_without_ties_changes_nothing(convention, sizes, seed):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    y = rng.choice([-1, 0, 0, 1, 2], n)
    ids = [f"d{i}" for i in range(n)]
    data = QueryDataset.from_arrays(np.zeros((n, 1)), y, group=sizes, doc_ids=ids)
    scores = rng.permutation(n).astype(float)
    shuffled = data.shuffle(rng)
    before = evaluate(data, scores, defined(convention), convention)
    after = evaluate(shuffled, scores[shuffled.rows], defined(convention), convention)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_allclose(old.values, new.values, rtol=1e-12, err_msg=str(old.measure))


@settings(max_examples=60)
@given(rankings(max_documents=30), st.sampled_from(sorted(CONVENTIONS)))
def test_measures_lie_between_0_and_1(ranking, convention):
    for result in evaluate(*ranking, defined(convention), convention):
        if result.measure.name != "DCG":
            values = result.values[~np.isnan(result.values)]
            assert (values >= 0).all(), result.measure
            assert (values <= 1 + 1e-12).all(), result.measure


@pytest.mark.parametrize(
    ("measure", "convention"),
    [
        (measure, name)
        for measure in ("nDCG", "nDCG@1", "nDCG@7", "AP", "RR", "PairAcc", "R@250")
        for name, convention in CONVENTIONS.items()
        if measure != "RR" or convention.ties != "averaged"  # RR knows no averaged ties
    ],
)
def test_a_perfect_ranking_scores_1_and_its_reverse_less(measure, convention, rng):
    sizes = [7, 20, 250]
    y = np.concatenate([rng.permutation(np.r_[4, 2, np.zeros(size - 2)]) for size in sizes])
    ids = [f"d{i}" for i in range(len(y))]
    data = QueryDataset.from_arrays(np.zeros((len(y), 1)), y, group=sizes, doc_ids=ids)
    best = y - 1e-3 * np.arange(len(y)) / len(y)
    assert evaluate(data, best, measure, convention)[measure] == pytest.approx(1, abs=1e-15)
    if parse(measure).name != "R":
        assert evaluate(data, -best, measure, convention)[measure] < 0.6


def test_averaged_ties_are_the_mean_over_orders_where_stable_ties_take_one():
    data = QueryDataset.from_arrays(np.zeros((3, 1)), [0, 1, 0], group=[3])
    discounts = 1 / np.log2([2, 3, 4])
    ties = CONVENTIONS["standard"].differing("averaged", ties="averaged")
    assert evaluate(data, np.zeros(3), "nDCG", ties)["nDCG"] == pytest.approx(discounts.mean())
    assert evaluate(data, np.zeros(3), "nDCG")["nDCG"] == pytest.approx(discounts[1])


def test_pair_accuracy_halves_ties_and_leaves_unjudged_documents_out():
    data = QueryDataset.from_arrays(np.zeros((4, 1)), [2, 1, 0, -1], group=[4])
    assert evaluate(data, [1, 1, 1, 9], "PairAcc")["PairAcc"] == 1 / 2
    assert evaluate(data, [3, 2, 2, 9], "PairAcc")["PairAcc"] == (1 + 1 + 1 / 2) / 3


# -- as values


@st.composite
def any_measure(draw):
    name = draw(st.sampled_from(sorted(FAMILIES)))
    family = FAMILIES[name]
    cutoff = draw(st.none() | st.integers(1, 10**6)) if family.takes_cutoff else None
    measure = Measure(name, cutoff)
    for key, _ in family.parameters:
        if draw(st.booleans()):
            thousandths = st.integers(1, 999 if key == "p" else 99_999)
            measure = measure(**{key: draw(thousandths) / 1000})
    return measure


@given(any_measure())
def test_a_measure_reads_back_as_it_prints(measure):
    assert parse(str(measure)) == parse(f" {measure} ".lower()) == measure
    assert hash(parse(str(measure))) == hash(measure)


@pytest.mark.parametrize("measure", [measures.RBP(p=0.1234567), measures.AP(rel=0.1 + 0.2) @ 5])
def test_a_measure_reads_back_as_it_prints_to_the_last_digit(measure):
    assert parse(str(measure)) == measure


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@10", measures.nDCG @ 10),
        ("MAP", measures.AP),
        ("mrr@5", measures.RR @ 5),
        ("precision@1", measures.P @ 1),
        ("Recall(rel=2)@ 20", measures.R(rel=2) @ 20),
        (" RBP ( rel = 2 , p = 0.5 ) ", measures.RBP(p=0.5, rel=2)),
        (measures.AP, measures.AP),
    ],
)
def test_parse(text, expected):
    assert parse(text) == expected
    assert parse_all(text) == (expected,)
    assert parse_all([text, "P@1"]) == (expected, measures.P @ 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NDGC@10", r"unknown measure 'NDGC'; known: DCG, nDCG, AP"),
        ("", "write for example nDCG@10"),
        ("nDCG@", "write for example nDCG@10"),
        ("nDCG@-1", "write for example nDCG@10"),
        ("nDCG@5@10", "write for example nDCG@10"),
        ("nDCG@0", "at least 1; found nDCG@0"),
        ("PairAcc@5", "PairAcc takes no cutoff; found @5"),
        ("AP(foo=2)", r"AP has no parameter 'foo'; it has: rel"),
        ("nDCG(rel=2)", r"nDCG has no parameter 'rel'; it has: none"),
        ("AP(rel)", r"cannot read 'rel' in 'AP\(rel\)'; write parameters as rel=2"),
        ("AP(rel=high)", "write parameters as rel=2"),
        ("AP(rel=0)", "rel of AP must be above 0; found 0"),
        ("RBP(p=2)", "p of RBP must be between 0 and 1; found 2"),
        ("RBP(p=nan)", "between 0 and 1"),
        ("ERR(max=-1)", "above 0"),
    ],
)
def test_parse_says_what_is_wrong(text, message):
    with pytest.raises(MeasureError, match=message):
        parse(text)


def test_measures_are_built_by_operators():
    assert str(measures.nDCG @ 10) == repr(measures.nDCG @ 10) == "nDCG@10"
    assert str(measures.AP(rel=2) @ 5) == "AP(rel=2)@5"
    assert measures.RBP(rel=2)(p=0.5) == measures.RBP(p=0.5, rel=2)
    with pytest.raises(MeasureError, match="at least 1"):
        measures.nDCG @ 0
