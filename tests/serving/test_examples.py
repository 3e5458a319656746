"""Examples that are put off are learnt to the same bits as those learnt at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankloop.exceptions import DataError
from rankloop.feedback.events import Feedback
from rankloop.feedback.grading import feedback_grades
from rankloop.feedback.ranking import best_first
from rankloop.rankers.online.solar_i import SolarI
from rankloop.serving.engine.engine import Engine
from rankloop.serving.journal.action_entries import Configured
from rankloop.serving.journal.base import Record
from rankloop.serving.journal.ranking_entries import Closed, Judged, Observed, Ranked, pack_features
from rankloop.serving.learning.examples import make_example

from .tools import small

RANKINGS = 150  # more than are put off


def entries(settings, huge=()):
    rng = np.random.default_rng(0)
    yield Configured(settings.to_bytes(), 1)
    position = 1
    for n in range(RANKINGS):
        size = int(rng.integers(2, 7))
        X = rng.normal(size=(size, 3)).astype(np.float32)
        if n in huge:
            X *= np.float32(1e38)
        order = rng.permutation(size).tolist()
        items = [f"d{i}" for i in range(size)]
        features, _ = pack_features(X)
        scores = rng.normal(size=size)
        chances = rng.uniform(0.1, 1, size=size)
        yield Ranked(
            f"r{n}", items, 3, features, order, scores.tobytes(), propensities=chances.tobytes()
        )
        ranked = position = position + 1
        yield Observed(f"e{n}", f"r{n}", items[int(X[:, 0].argmax())])
        yield Closed(f"r{n}")
        position += 2
        if n % 10 == 0:
            yield Judged(f"j{n}", f"r{n}", ranked, {"d0": 2.0, "d1": 0.0})
            position += 1


def state_of(settings, at_once, huge=()):
    known = dict(enumerate(entries(settings, huge), start=1))
    engine = Engine(known.__getitem__)
    for position, entry in known.items():
        engine.apply(Record(position, position, entry))
        if at_once:
            engine.learn()
    engine.learn()
    return engine


@pytest.mark.slow
@pytest.mark.parametrize("learn_from", ["grades", "shown", "pairs", "ips"])
@pytest.mark.parametrize("ranker", ["auto", "solar-ii", "pdgd"])
def test_what_is_put_off_is_learnt_to_the_same_bits(ranker, learn_from):
    chances = {"examination": [1.0, 0.5]} if learn_from == "ips" else {}
    settings = small(rankers=(ranker,), learn_from=learn_from, check_every=10_000, **chances)
    late, at_once = state_of(settings, False), state_of(settings, True)
    assert late.digest() == at_once.digest()
    assert late.totals.examples == RANKINGS + RANKINGS // 10
    assert late.shown.n == late.models[ranker].curve.n == late.totals.examples


def test_an_example_that_breaks_a_ranker_is_refused_alone(monkeypatch):
    learn = SolarI.predict_then_learn

    def breaks(self, data):
        if abs(data.X).max() > 1e30:
            raise DataError("too much")
        return learn(self, data)

    monkeypatch.setattr(SolarI, "predict_then_learn", breaks)
    settings = small(rankers=("solar-i", "auto"), check_every=10_000)
    late, at_once = (state_of(settings, now, huge=(7, 81)) for now in (False, True))
    assert late.digest() == at_once.digest()
    assert late.models["solar-i"].refused == 2
    assert late.models["solar-i"].ranker.n_queries_seen_ == late.totals.examples - 2


@pytest.mark.parametrize(
    ("learn_from", "kinds", "learnt"),
    [
        ("grades", {"b": "click"}, [0, 1, 0, -1, -1]),
        ("grades", {"b": "click", "d": "skip"}, [0, 1, 0, 0, 0]),  # whoever skips it has seen it
        ("grades", {"b": "hide"}, [1, 0, 1, -1, -1]),
        ("grades", {"a": "click", "e": "click"}, [1, 0, 0, 0, 1]),
        ("shown", {"b": "click"}, [0, 1, 0, 0, 0]),
    ],
)
def test_what_nobody_may_have_seen_is_not_learnt(learn_from, kinds, learnt):
    X = np.eye(6, dtype=np.float32)  # the last candidate was not shown
    shown = replace(
        best_first([6.0, 5, 4, 3, 2, 1], id="r1", doc_ids=[*"abcdef"], X=X), order=np.arange(5)
    )
    events = [Feedback("r1", item, kind) for item, kind in kinds.items()]
    settings = small(
        features=6, learn_from=learn_from, feedback={"click": 1, "skip": 0, "hide": -1}
    )
    grades = feedback_grades(shown, events, settings.rules)
    example = make_example(settings, shown, grades, 1, events)
    assert example.grades.tolist() == [*learnt, -1]
    assert example.feedback.tolist() == grades.tolist()  # for rankers that decide themselves
    judged = make_example(settings, shown, grades, 1)
    assert judged.grades.tolist() == grades.tolist()
    assert judged.feedback is None
