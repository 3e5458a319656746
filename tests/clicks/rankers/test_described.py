"""A described ranker for clicks is its ranker on features that are encoded by hand."""

from dataclasses import replace

import numpy as np
import pytest

from rankloop.clicks.rankers.base import click_grades
from rankloop.clicks.rankers.pdgd import PDGD
from rankloop.exceptions import DataError
from rankloop.features import Feature, Features
from rankloop.rankers.model_files.saving import dumps, loads
from rankloop.rankers.wrappers.described import Described

COLUMNS = Features(
    (
        Feature("price", missing="indicator", default=0.5),
        Feature("brand", "category", limit=3, buckets=2),
    )
)


def queries(rng, n=20):
    for _ in range(n):
        X = np.column_stack([rng.random(6), rng.integers(0, 5, 6)]).astype(np.float32)
        X[rng.random(6) < 0.2, 0] = np.nan
        yield X


def test_it_shows_and_learns_what_its_ranker_does_by_hand(rng):
    described, plain = Described(PDGD(rate=1.0), description=COLUMNS), PDGD(rate=1.0)
    for n, X in enumerate(queries(rng)):
        shown = described.show(X, id=f"r{n}", k=4)
        by_hand = plain.show(COLUMNS.encode(X), id=f"r{n}", k=4)
        assert shown.order.tolist() == by_hand.order.tolist()
        assert shown.X.tobytes() == X.tobytes()
        clicks = rng.random(4) < 0.4
        described.learn_ranking(shown, click_grades(shown, clicks))
        plain.learn_ranking(by_hand, click_grades(by_hand, clicks))
    assert described.ranker_.weights_.tolist() == plain.weights_.tolist()
    assert described.n_queries_seen_ == 20
    again = loads(dumps(described))
    assert again.show(X, id="x").order.tolist() == described.show(X, id="x").order.tolist()


def test_without_a_description_one_ranking_is_too_little(rng):
    (X,) = queries(rng, 1)
    with pytest.raises(DataError, match="too little to learn a description"):
        Described(PDGD()).show(np.nan_to_num(X), id="r1")


def test_a_ranking_that_fails_changes_nothing(rng):
    described = Described(PDGD(), description=COLUMNS)
    (X,) = queries(rng, 1)
    shown = described.show(X, id="r1")
    before = described.digest()
    with pytest.raises(DataError):
        described.learn_ranking(replace(shown, X=X[:, :1]), click_grades(shown, np.ones(6, bool)))
    assert described.digest() == before
