"""Fitted click models against EM by brute force, and against what must hold for any log."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.clicks.log.log import ClickLog
from rankloop.clicks.models.cascade import Cascade
from rankloop.clicks.models.ccm import CCM
from rankloop.clicks.models.dbn import DBN, SDBN
from rankloop.clicks.models.dcm import DCM
from rankloop.clicks.models.evaluation import evaluate_clicks
from rankloop.clicks.models.pbm import PBM
from rankloop.clicks.models.trust import TrustBias
from rankloop.clicks.models.ubm import UBM
from rankloop.exceptions import DataError, NotFittedError

from . import twins

PRIOR = (0.7, 1.3)
MODELS = {
    "PBM": PBM,
    "UBM": UBM,
    "DCM": DCM,
    "SDBN": SDBN,
    "DBN": DBN,
    "CCM": CCM,
    "TrustBias": TrustBias,
}


@pytest.fixture
def pages(rng):
    return twins.random_pages(rng)


def pair_values(table, name, pages):
    keys = {(query, document) for query, shown, _ in pages for document in shown}
    return {(name, *key): table.get(*key) for key in keys}


def start_of(model, pages):
    """The counts that a chain model starts from."""
    values = pair_values(model.attraction, "attraction", pages)
    if hasattr(model, "satisfaction"):
        values |= pair_values(model.satisfaction, "satisfaction", pages)
    return values


def assert_same(found, expected):
    """What EM never counted stays at the mean of the prior."""
    for key, value in found.items():
        assert value == pytest.approx(expected.get(key, PRIOR[0] / sum(PRIOR)), abs=1e-12), key


@pytest.mark.parametrize("by_last_click", [False, True])
def test_browsing_models_are_alternating_em(pages, by_last_click):
    fit = (UBM if by_last_click else PBM)(4, PRIOR).fit(ClickLog.from_pages(pages))
    expected = twins.browsing_em(pages, PRIOR, 4, by_last_click)
    assert_same(pair_values(fit.attraction, "attraction", pages), expected)
    for (kind, *where), value in expected.items():
        if kind == "examination":
            place = (where[0] - 1, *where[1:])
            assert fit.examination[place] == pytest.approx(value, abs=1e-12)


def test_dcm_is_em(pages):
    log = ClickLog.from_pages(pages)
    counted, fit = DCM(0, PRIOR).fit(log), DCM(3, PRIOR).fit(log)
    start = start_of(counted, pages) | {
        ("go on", k): value for k, value in enumerate(counted.go_on, start=1)
    }
    expected = twins.em(pages, twins.dependent_stories, start, PRIOR, 3)
    assert_same(pair_values(fit.attraction, "attraction", pages), expected)
    assert_same({("go on", k): value for k, value in enumerate(fit.go_on, start=1)}, expected)


@pytest.mark.parametrize("model", [SDBN, DBN])
def test_dbn_is_em(pages, model):
    log = ClickLog.from_pages(pages)
    fit, start = model(3, PRIOR).fit(log), start_of(SDBN(0, PRIOR).fit(log), pages)
    fixed = 1.0 if model is SDBN else None
    told = partial(twins.bayesian_stories, fixed_going_on=fixed)
    expected = twins.em(pages, told, start, PRIOR, 3)
    assert_same(pair_values(fit.attraction, "attraction", pages), expected)
    assert_same(pair_values(fit.satisfaction, "satisfaction", pages), expected)
    assert fit.go_on == pytest.approx(1.0 if fixed else expected["go on"], abs=1e-12)


def test_ccm_is_em(pages):
    log = ClickLog.from_pages(pages)
    fit, start = CCM(3, PRIOR).fit(log), start_of(SDBN(0, PRIOR).fit(log), pages)
    expected = twins.em(pages, twins.click_chain_stories, start, PRIOR, 3)
    assert_same(pair_values(fit.attraction, "attraction", pages), expected)
    assert fit.go_on == pytest.approx([expected[f"tau{k}"] for k in (1, 2, 3)], abs=1e-12)


def test_trust_bias_is_em(pages):
    log = ClickLog.from_pages(pages)
    fit = TrustBias(3, PRIOR).fit(log)
    clicked, seen = np.zeros(4), np.zeros(4)
    for _, shown, clicks in pages:
        for k, document in enumerate(shown):
            seen[k] += 1
            clicked[k] += document in clicks
    shape = (PRIOR[0] + clicked) / (sum(PRIOR) + seen)
    shape /= shape.max()
    start = {("a", k + 1): 0.9 * s for k, s in enumerate(shape)}
    start |= {("b", k + 1): 0.3 * s for k, s in enumerate(shape)}
    expected = twins.em(pages, twins.trust_stories, start, PRIOR, 3)
    assert_same(pair_values(fit.relevance, "relevance", pages), expected)
    assert fit.relevant == pytest.approx([expected["a", k] for k in range(1, 5)], abs=1e-12)
    assert fit.irrelevant == pytest.approx([expected["b", k] for k in range(1, 5)], abs=1e-12)


def test_counted_models(pages):
    """The estimators of the papers, counted by hand."""
    log = ClickLog.from_pages(pages)
    sdbn, dcm, cascade = SDBN(0, PRIOR).fit(log), DCM(0, PRIOR).fit(log), Cascade(PRIOR).fit(log)
    counts = twins.Counts(PRIOR)
    for query, shown, clicked in pages:
        places = [k for k, document in enumerate(shown) if document in clicked]
        first, last = (places[0], places[-1]) if places else (len(shown), len(shown))
        for k, document in enumerate(shown):
            click = document in clicked
            if k <= last:
                counts.add(("attraction", query, document), click, 1)
            if k <= first:
                counts.add(("first", query, document), click, 1)
            if click:
                counts.add(("satisfaction", query, document), k == last, 1)
                counts.add(("go on", k), k != last, 1)
    for key, value in counts.means().items():
        found = {
            "attraction": lambda key: sdbn.attraction.get(*key[1:]),
            "satisfaction": lambda key: sdbn.satisfaction.get(*key[1:]),
            "first": lambda key: cascade.attraction.get(*key[1:]),
            "go on": lambda key: dcm.go_on[key[1]],
        }[key[0]](key)
        assert found == pytest.approx(value, abs=1e-12), key
    assert dcm.probabilities(log.select([0]))[0] == sdbn.probabilities(log.select([0]))[0]


def log_posterior(model, log):
    """What EM raises: the log-likelihood plus the log prior of every parameter."""
    happened = np.where(log.clicks, model.conditional(log), 1 - model.conditional(log))
    found = [np.log(happened).sum()]
    tables = ("attraction", "satisfaction", "relevance")
    shared = ("examination", "go_on", "relevant", "irrelevant")
    parts = [getattr(model, name).values for name in tables if hasattr(model, name)]
    parts += [np.atleast_1d(getattr(model, name)) for name in shared if hasattr(model, name)]
    for values in parts:
        inside = values[(values > 0) & (values < 1)]
        found.append((PRIOR[0] * np.log(inside) + PRIOR[1] * np.log(1 - inside)).sum())
    return sum(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_every_step_raises_the_posterior(name, seed):
    log = ClickLog.from_pages(twins.random_pages(np.random.default_rng(seed)))
    steps = [log_posterior(MODELS[name](k, PRIOR).fit(log), log) for k in (1, 2, 3, 10, 50)]
    assert (np.diff(steps) > -1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_same_bits_for_any_number_of_threads(name, rng, monkeypatch):
    log = ClickLog.from_pages(twins.random_pages(rng, n=3000, queries=200, documents=30))
    found = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        model = MODELS[name](5).fit(log)
        found.append((model.probabilities(log), model.conditional(log)))
    for other in found[1:]:
        assert np.array_equal(found[0][0], other[0])
        assert np.array_equal(found[0][1], other[1])


@pytest.mark.parametrize("name", [*MODELS, "Cascade"])
def test_counts_stand_for_repeated_pages(name, rng):
    pages = twins.random_pages(rng, n=25)
    times = rng.integers(0, 4, len(pages))
    repeated = [page for page, n in zip(pages, times, strict=True) for _ in range(n)]
    make = {**MODELS, "Cascade": Cascade}[name]
    model = make() if name == "Cascade" else make(6)
    one = model.fit(ClickLog.from_pages(repeated))
    log = ClickLog.from_pages(pages)
    same = model.fit(log.with_counts(times))
    assert one.probabilities(log) == pytest.approx(same.probabilities(log), rel=1e-9)
    whole = evaluate_clicks(one, ClickLog.from_pages(repeated))
    counted = evaluate_clicks(one, log.with_counts(times))
    assert whole.log_likelihood == pytest.approx(counted.log_likelihood, rel=1e-12)
    assert whole.perplexity_at == pytest.approx(counted.perplexity_at, rel=1e-12)


@pytest.mark.slow
def test_known_parameters_are_found(rng):
    """Clicks drawn from a model teach that model back."""
    shown = [(0, rng.permutation(8).tolist(), []) for _ in range(40_000)]
    log = ClickLog.from_pages(shown)
    attraction = log.grouped_pages.table(np.linspace(0.15, 0.9, 8), 0.5)
    examination = np.array([1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2])
    truth = PBM(examination=examination, attraction=attraction)
    fit = PBM(300).fit(truth.sample(rng, log))
    assert fit.examination / fit.examination[0] == pytest.approx(examination, abs=0.02)
    scale = fit.attraction.values / attraction.values
    assert scale == pytest.approx(np.full(8, scale.mean()), rel=0.04)
    truth = DBN(
        go_on=0.8,
        attraction=attraction,
        satisfaction=log.grouped_pages.table(np.linspace(0.7, 0.1, 8), 0.5),
    )
    fit = DBN(300).fit(truth.sample(rng, log))
    assert fit.go_on == pytest.approx(0.8, abs=0.02)
    assert fit.attraction.values == pytest.approx(attraction.values, abs=0.03)


def test_ranks_beyond_the_last_share_its_parameter(rng):
    log = ClickLog.from_pages(twins.random_pages(rng))
    for model in (PBM(5, ranks=2).fit(log), UBM(5, ranks=2).fit(log), DCM(5, ranks=2).fit(log)):
        assert len(getattr(model, "examination", getattr(model, "go_on", None))) == 2
        assert np.isfinite(model.probabilities(log)).all()


def test_errors(rng):
    log = ClickLog.from_pages(twins.random_pages(rng))
    with pytest.raises(NotFittedError, match=r"use PBM\(...\).fit\(log\)"):
        PBM().probabilities(log)
    with pytest.raises(DataError, match="two numbers above 0"):
        UBM(prior=(0.0, 1.0)).fit(log)
    with pytest.raises(DataError, match="iterations must be a whole number of at least 1"):
        DBN(iterations=0).fit(log)
    with pytest.raises(DataError, match="ranks must be"):
        PBM(ranks=0).fit(log)
    with pytest.raises(DataError, match="no pages"):
        PBM().fit(log.select([]))
