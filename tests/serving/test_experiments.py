"""Who wins, who is promoted, who comes back, and what may be spent on finding out."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rankloop import QueryDataset, Slam, XENDCGBoost
from rankloop.exceptions import DataError
from rankloop.rankers import Imported, Stacked
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.state import ENGINE
from rankloop.serving.experiments.intervals import share_of_errors
from rankloop.serving.journal.action_entries import (
    Configured,
    ExperimentEnded,
    ExperimentStarted,
    ModelAdded,
    Promoted,
    RolledBack,
)
from rankloop.serving.journal.base import Record
from rankloop.serving.journal.ranking_entries import Closed, Observed, Ranked, pack_features
from rankloop.serving.policy import choose

from .tools import best_item, question, small


def liking(*weights):
    """A model that likes each feature as much."""
    model = Slam("nDCG@10", average=False).learn(np.eye(3, dtype=np.float32), [0, 0, 1])
    return model._restore(model._state() | {"last_weights_": np.array(weights, float)}) or model


class Bench:
    """An engine fed by hand, which remembers what it was fed."""

    def __init__(self, **settings):
        self.entries = [None]
        self.engine = Engine(lambda position: self.entries[position])
        self.rng = np.random.default_rng(0)
        self.say(Configured(small(**settings).to_bytes(), ENGINE))
        self.names = 0

    def say(self, *entries):
        for entry in entries:
            self.entries.append(entry)
            self.engine.apply(Record(len(self.entries) - 1, 0, entry))
        self.engine.learn()

    def search(self, clicks=True, session=None, k=3, own_order=False):
        """Somebody searches and clicks on what has most of the first feature."""
        self.names += 1
        now = self.engine.publish()
        items, X = question(self.rng, 8)
        choice = choose(now, X, f"r{self.names}", k, own_order)
        features, _ = pack_features(X)
        chances = choice.propensities
        entry = Ranked(
            f"r{self.names}", items, 3, features, choice.order.tolist(), choice.scores.tobytes(),
            choice.version, choice.seen, choice.model, choice.policy,
            None if chances is None else chances.tobytes(), choice.teams, choice.experiment,
            session=session,
        )  # fmt: skip
        told = [Observed(f"e{self.names}", entry.id, best_item(entry))] if clicks else []
        self.say(entry, *told, Closed(entry.id))
        return entry

    def until_decided(self, most=2000):
        experiment = self.engine.running
        for _ in range(most):
            winner = experiment.winner()
            if winner is not None:
                self.say(ExperimentEnded(experiment.id, "", winner))
                return winner
            self.search()
        raise AssertionError("nobody won")


def with_models(**settings):
    bench = Bench(rankers=("slam:measure=AP",), **settings)
    for name, weights in {"bad": (-1, 0, 0), "fair": (1, 2, 2), "good": (1, 0, 0)}.items():
        bench.say(ModelAdded(name, liking(*weights).dumps()))
    bench.say(Promoted("p", "bad"))
    return bench


@pytest.mark.slow
def test_the_best_of_several_challengers_is_promoted():
    bench = with_models()
    bench.say(ExperimentStarted("x", ["fair", "good"], "auto"))
    entry = bench.search()
    assert entry.policy == "team-draft"
    assert set(entry.teams) <= {-1, 0, 1, 2}
    assert bench.until_decided() == "good"
    assert bench.engine.champion == "good"
    assert bench.engine.running is None
    fair, good = bench.engine.publish().experiments.promotions, bench.engine.experiments.promotions
    assert fair == good == 2


@pytest.mark.slow
def test_no_challenger_wins_where_all_are_worse():
    bench = with_models()
    bench.say(Promoted("p2", "good"), ExperimentStarted("x", ["bad", "fair"], "auto"))
    assert bench.until_decided() == "good"
    assert bench.engine.champion == "good"
    assert bench.engine.experiments.rollbacks == 0


def test_a_snapshot_that_won_is_promoted_as_it_was():
    bench = with_models()
    own = "slam:measure=AP"
    bench.search()
    tested = bench.engine.models[own].ranker.dumps()
    for promote, expected in (("snapshot", True), ("auto", False)):
        bench.say(Promoted(f"p {promote}", "bad"), ExperimentStarted(promote, [own], promote))
        if promote == "auto":
            tested = bench.engine.models[own].ranker.dumps()
        for _ in range(5):
            bench.search()
        bench.say(ExperimentEnded(promote, "", own))
        assert bench.engine.champion == own
        assert (bench.engine.models[own].ranker.dumps() == tested) == expected


def test_a_winner_that_nobody_wants_promoted_is_not():
    bench = with_models()
    bench.say(ExperimentStarted("x", ["good"]), ExperimentEnded("x", "", "good"))
    assert bench.engine.champion == "bad"


def test_a_promoted_model_that_falls_behind_is_rolled_back():
    bench = with_models()
    bench.say(Promoted("p2", "good"), Promoted("p3", "bad", holdback=1.0))
    experiment = bench.engine.running
    assert experiment.is_holdback
    assert experiment.names == ["bad", "good"]
    assert bench.until_decided() == "good"
    assert bench.engine.champion == "good"
    assert (bench.engine.experiments.rollbacks, bench.engine.running) == (1, None)


def test_a_watch_begins_anew_where_the_champion_is_proven():
    bench = with_models()
    bench.say(Promoted("p2", "good", holdback=0.5))
    first = bench.engine.running
    played = [bench.search().experiment for _ in range(60)]
    assert 10 < sum(one is not None for one in played) < 50  # about half of all
    assert bench.until_decided() == "good"
    again = bench.engine.running
    assert again.is_holdback
    assert again.id != first.id
    assert again.alpha < first.alpha
    assert again.models[1] == first.models[1]
    bench.say(ExperimentStarted("x", ["fair"]))  # gives way to what an operator wants
    assert bench.engine.running.id == "x"


def test_a_watched_champion_is_shown_as_it_learns():
    bench = Bench(rankers=("slam:measure=AP", "solar-i"))
    bench.say(Promoted("p", "solar-i", holdback=1.0))
    before = bench.search()
    for _ in range(5):
        bench.search()
    after = bench.search()
    assert before.version < after.version
    experiment = bench.engine.publish().experiment
    assert experiment.models[0] is None


def test_one_session_is_one_outcome_and_counts_once_it_clicks():
    bench = with_models()
    bench.say(ExperimentStarted("x", ["good"]))
    outcomes = bench.engine.running.outcomes[0]
    bench.search(clicks=False, session="s")
    assert outcomes.n == 0
    bench.search(session="s")
    assert outcomes.n == 1
    for _ in range(5):
        bench.search(session="s")
    assert outcomes.n == 1
    bench.search(session="t")
    bench.search()
    assert outcomes.n == 3


def test_sorted_lists_take_no_part():
    bench = with_models()
    bench.say(ExperimentStarted("x", ["good"]))
    entry = bench.search(own_order=True)
    assert (entry.policy, entry.experiment, entry.teams) == ("own-order", None, None)
    assert entry.order == [0, 1, 2]
    assert bench.engine.running.outcomes[0].n == 0
    assert bench.engine.totals.examples == 1


def test_all_experiments_share_one_budget():
    bench = with_models(alpha=0.06)
    shares = []
    for n in range(20):
        bench.say(ExperimentStarted(f"x{n}", ["good"]))
        shares.append(bench.engine.running.alpha)
        bench.say(ExperimentEnded(f"x{n}"))
    assert shares == pytest.approx([0.06 / ((n + 1) * (n + 2)) for n in range(20)])
    assert bench.engine.experiments.spent == pytest.approx(sum(shares))
    assert bench.engine.experiments.spent < 0.06
    assert share_of_errors(0.01, spent=0.02, experiments=3) == 0


def test_a_spent_budget_refuses_and_settings_do_not_reach_a_running_experiment():
    bench = with_models(alpha=0.06)
    bench.say(ExperimentStarted("x", ["good"], "auto"))
    experiment = bench.engine.running
    before = (experiment.alpha, dict(experiment.feedback), experiment.promote)
    changed = small(rankers=("slam:measure=AP",), alpha=0.001, feedback={"purchase": 3.0})
    bench.say(Configured(changed.to_bytes(), ENGINE))
    assert (experiment.alpha, experiment.feedback, experiment.promote) == before
    bench.search()
    assert experiment.outcomes[0].n == 1  # clicks count, as they did when it began
    assert bench.engine.totals.examples == 0
    bench.say(ExperimentStarted("y", ["fair"]))
    assert bench.engine.running is experiment  # one at a time
    bench.say(ExperimentEnded("x"), ExperimentStarted("z", ["fair"]))
    assert bench.engine.running is None  # nothing is left of a smaller alpha


def test_what_cannot_be_tried_is_refused():
    bench = with_models()
    for challengers in ([], ["nobody"], ["bad"], ["good", "good"]):
        bench.say(ExperimentStarted(f"x{challengers}", challengers))
        assert bench.engine.running is None
    bench.say(ExperimentStarted("x", ["good"]), ExperimentEnded("other", "", "good"))
    assert bench.engine.running is not None
    bench.say(RolledBack("r", {}, "fair"))  # what operators do is above any experiment
    assert bench.engine.running is None
    assert bench.engine.champion == "fair"


@pytest.mark.slow
def test_a_state_in_the_middle_of_an_experiment_goes_on_the_same():
    bench = with_models()
    bench.say(ExperimentStarted("x", ["fair", "good"], "auto", holdback=0.3))
    for n in range(10):
        bench.search(session=f"s{n}")
    body = msgspec.msgpack.encode(bench.engine.state())
    other = Engine(lambda position: bench.entries[position])
    other.restore(msgspec.msgpack.decode(body, type=type(bench.engine.state())))
    bench.until_decided()
    for position in range(other.position + 1, len(bench.entries)):
        other.apply(Record(position, 0, bench.entries[position]))
    assert other.digest() == bench.engine.digest()
    assert other.running is not None  # the holdback


@pytest.mark.slow
def test_errors_stay_within_the_budget():
    """Two models that are alike: over many experiments, few ever name a winner."""
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        bench = with_models()
        bench.say(ExperimentStarted("x", ["good"]))
        experiment = bench.engine.running
        for _ in range(300):
            experiment.outcomes[0].add(int(rng.integers(-1, 2)))
            if experiment.winner() is not None:
                wrong += 1
                break
    assert wrong <= 3


def test_drawn_rankings_alone_are_learnt_where_loops_learn_from_pdgd():
    drawn = {"policy": "plackett-luce", "explore_top": 3}
    bench = Bench(rankers=("newton", "pdgd"), learn_from="pdgd", **drawn)
    assert bench.search(k=3).policy == "plackett-luce"
    for _ in range(30):
        bench.search(k=3)
    examples = bench.engine.totals.examples
    assert examples > 20
    for model in bench.engine.models.values():
        assert model.refused == 0
        assert model.ranker.predict(np.eye(3), group=[3])[0] > 0
    assert bench.search(k=5).policy == "plackett-luce in part"  # the last two by score alone
    bench.search(k=3, own_order=True)
    assert bench.engine.totals.examples == examples
    assert bench.engine.totals.refused == 2


@pytest.mark.parametrize("wrong", [{"policy": "best-first"}, {"temperature": 0.5}])
def test_pdgd_needs_rankings_that_are_drawn(wrong):
    with pytest.raises(DataError, match="expected policy = 'plackett-luce' and temperature = 1"):
        small(**{"learn_from": "pdgd", "policy": "plackett-luce"} | wrong)


@pytest.mark.slow
def test_trees_join_frozen_and_inside_a_ranker_that_goes_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3)).astype(np.float32)
    data = QueryDataset.from_arrays(X, (X[:, 1] > 0.5).astype(float), group=[8] * 20)
    trees = XENDCGBoost(trees=5).fit(data)  # they like the second feature; people, the first
    bench = Bench(rankers=("stacked",))
    bench.say(ModelAdded("trees", trees.dumps()))
    bench.say(ModelAdded("both", Stacked.over(trees, data).dumps()), Promoted("p", "both"))
    before = {name: model.ranker.digest() for name, model in bench.engine.models.items()}
    first = bench.search(k=8)
    score = np.frombuffer(first.scores, np.float64)
    frozen = trees.predict(first.matrix(), group=[8])
    assert np.array_equal(np.argsort(-score, kind="stable"), np.argsort(-frozen, kind="stable"))
    for _ in range(150):
        bench.search(k=8)
    models = bench.engine.models
    assert models["trees"].ranker.digest() == before["trees"]
    assert models["both"].ranker.digest() != before["both"]
    assert models["both"].curve.recent > models["trees"].curve.recent + 0.05
    assert models["stacked"].refused == models["both"].refused == 0
    state = msgspec.msgpack.encode(bench.engine.state())
    other = Engine(lambda position: bench.entries[position])
    other.restore(msgspec.msgpack.decode(state, type=type(bench.engine.state())))
    assert other.digest() == bench.engine.digest()


def test_an_imported_model_ranks_frozen(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3)).astype(np.float32)
    data = QueryDataset.from_arrays(X, (X[:, 1] > 0.5).astype(float), group=[8] * 20)
    trees = XENDCGBoost(trees=5).fit(data)
    trees.save_text(tmp_path / "model.txt")
    imported = Imported.read(tmp_path / "model.txt")
    bench = Bench(rankers=("slam",))
    bench.say(ModelAdded("imported", imported.dumps()), Promoted("p", "imported"))
    shown = bench.search(k=8)
    expected = np.sort(trees.predict(shown.matrix()))[::-1]
    assert np.array_equal(np.sort(np.frombuffer(shown.scores, np.float64))[::-1], expected)
    bench.search(k=8)
    assert bench.engine.models["imported"].ranker.digest() == imported.digest()
