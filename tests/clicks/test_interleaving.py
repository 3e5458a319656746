"""Interleaving: what each method promises, by enumeration where that is possible."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop as rl
from rankloop.clicks.interleaving.balanced import Balanced, ranks_of
from rankloop.clicks.interleaving.base import make_rng
from rankloop.clicks.interleaving.optimised import Optimised, all_lists, probabilities
from rankloop.clicks.interleaving.pairwise import PairwiseList, PairwisePreference
from rankloop.clicks.interleaving.probabilistic import Probabilistic, ProbabilisticList
from rankloop.clicks.interleaving.simulation import (
    AB,
    binary_error,
    measure_sensitivity,
    play,
    rankings_of,
)
from rankloop.clicks.interleaving.sosm import SampleOnlyScored
from rankloop.clicks.interleaving.team_draft import SHARED, TeamDraft, draft
from rankloop.clicks.users import make_user
from rankloop.exceptions import DataError

TWO = {
    "balanced": Balanced(),
    "team draft": TeamDraft(),
    "probabilistic": Probabilistic(),
    "optimised": Optimised(lists=None),
}
MANY = {
    "team draft": TeamDraft(),
    "probabilistic": Probabilistic(),
    "optimised": Optimised(),
    "SOSM": SampleOnlyScored(),
    "PPM": PairwisePreference(),
}


def random_rankings(rng, rankers=3, n=6):
    """Rankings that share some documents but not all."""
    return [rng.permutation(n + 2)[:n].tolist() for _ in range(rankers)]


@pytest.mark.slow
@pytest.mark.parametrize("name", MANY)
@given(seed=st.integers(0, 10**6), rankers=st.integers(2, 5), k=st.integers(1, 12))
def test_lists_and_preferences_have_their_form(name, seed, rankers, k):
    rng = np.random.default_rng(seed)
    rankings = random_rankings(rng, rankers)
    shown = MANY[name].interleave(rankings, rng, k)
    known = {document for ranking in rankings for document in ranking}
    assert set(shown.documents) <= known
    assert len(set(shown.documents)) == len(shown.documents) == min(k, 6)
    assert (shown.preferences(np.zeros(len(shown.documents))) == 0).all()
    wins = shown.preferences(rng.random(len(shown.documents)) < 0.5)
    assert np.abs(wins).max() <= MANY[name].bound(k, rankers) + 1e-9
    assert wins == pytest.approx(-wins.T)
    assert wins.shape == (rankers, rankers)


@pytest.mark.parametrize("name", {**TWO, **MANY})
def test_the_same_seed_gives_the_same_list(name):
    method = {**TWO, **MANY}[name]
    rankings = [["a", "b", "c", "d"], ["d", "b", "e", "a"]]
    one, same = (method.interleave(rankings, make_rng("r1")).documents for _ in range(2))
    assert one == same
    many = {method.interleave(rankings, make_rng(f"r{i}")).documents for i in range(40)}
    assert len(many) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["team draft", "probabilistic", "PPM"])
def test_random_clicks_prefer_nobody(name, rng):
    """The fidelity that these methods promise."""
    rankings = [list(range(6)), [5, 0, 1, 2, 3, 4], [2, 1, 0, 5, 4, 3]]
    times, total, squares = 6000, np.zeros((3, 3)), np.zeros((3, 3))
    for _ in range(times):
        shown = MANY[name].interleave(rankings, rng, 5)
        wins = shown.preferences(rng.random(5) < 0.4)
        total += wins
        squares += wins**2
    error = np.sqrt(np.maximum(squares, 1e-9))
    assert (np.abs(total) < 4.5 * error + 1e-9).all()


def lists_by_chance(rankings, k):
    """All lists of pairwise preference multileaving, with their choices and probabilities."""
    grown = [((), (), 1.0)]
    for i in range(k):
        candidates = {d for ranking in rankings for d in ranking[: i + 1]}
        grown = [
            ((*shown, d), (*choices, len(candidates - {*shown})), p / len(candidates - {*shown}))
            for shown, choices, p in grown
            for d in candidates - {*shown}
        ]
    return grown


@pytest.mark.parametrize(
    "rankings", [[[0, 1, 2], [1, 2, 0]], [[0, 1, 2, 3], [3, 0, 1, 2]], [[0, 1, 2, 3], [4, 1, 0, 5]]]
)
def test_clicks_by_position_prefer_nobody_in_pairwise_preference(rankings):
    """By enumeration of all lists and clicks; the chance of a click depends on the position."""
    k = len(rankings[0])
    chances = [0.9, 0.5, 0.2, 0.1][:k]
    mean, largest = 0.0, 0.0
    for shown, choices, chance in lists_by_chance(rankings, k):
        made = PairwiseList(shown, ranks_of(shown, rankings), choices)
        for clicks in product((0, 1), repeat=k):
            outcome = made.preferences(clicks)[0, 1]
            likely = np.prod([p if c else 1 - p for c, p in zip(clicks, chances, strict=True)])
            mean += chance * likely * outcome
            largest = max(largest, abs(outcome))
    assert mean == pytest.approx(0, abs=1e-12)
    assert 1 < largest <= PairwisePreference().bound(k)


@pytest.mark.parametrize("name", {**TWO, **MANY})
def test_rankings_that_run_out_are_refused(name, rng):
    """The second would get fewer documents into the list, and random clicks would say so."""
    method = {**TWO, **MANY}[name]
    with pytest.raises(DataError, match=r"have 5, 2 documents.*k=2"):
        method.interleave([[0, 1, 2, 3, 4], [3, 0]], rng, 4)
    assert len(method.interleave([[0, 1, 2, 3, 4], [3, 0]], rng, 2).documents) == 2
    with pytest.raises(DataError, match="leave the empty one out"):
        method.interleave([[0, 1], []], rng, 2)
    same = method.interleave([[0, 1, 2], [2, 0, 1]], rng, 10)
    assert sorted(same.documents) == [0, 1, 2]
    assert len(method.interleave([[0, 1], [2, 0]], rng, 10).documents) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", {**TWO, **MANY})
def test_a_better_ranker_wins(name, rng):
    """The first ranker puts the one relevant document higher than the others."""
    rankings = [[0, 1, 2, 3, 4], [1, 2, 3, 0, 4]]
    method, total = {**TWO, **MANY}[name], 0.0
    for _ in range(400):
        shown = method.interleave(rankings, rng, 5)
        total += shown.preferences(np.array(shown.documents) == 0)[0, 1]
    assert total > 0


def test_team_draft_by_its_rules(rng):
    rankings = [list("abcdef"), list("abdfec"), list("abfcde")]
    shown = TeamDraft().interleave(rankings, rng, 6)
    assert shown.documents[:2] == ("a", "b")
    assert (shown.credit[:2] == 0).all()  # nobody's, because all agree
    teams = shown.credit.argmax(axis=1)[2:]
    assert sorted(teams[:3]) == [0, 1, 2]  # each picks once a round
    for k, team in enumerate(teams, start=2):
        left = [one for one in rankings[team] if one not in shown.documents[:k]]
        assert shown.documents[k] == left[0]
    assert shown.preferences([1, 1, 0, 0, 0, 0]).any() == np.False_
    credited = TeamDraft(credit_shared=True).interleave(rankings, rng, 3)
    assert sorted(credited.credit.argmax(axis=1)) == [0, 1, 2]


class Coins:
    """A generator whose coins are given."""

    def __init__(self, coins):
        self.coins = iter(coins)

    def permutation(self, n):
        assert n == 2
        return np.array([0, 1]) if next(self.coins) else np.array([1, 0])


@pytest.mark.parametrize("order", list(permutations(range(4))))
@pytest.mark.parametrize("k", [3, 4])
def test_clicks_by_position_prefer_nobody_in_team_draft(order, k):
    """For all coins and all clicks: a list with these teams is as likely as with them exchanged."""
    lists = Counter()
    for coins in product((0, 1), repeat=4):
        _, teams = draft([[0, 1, 2, 3], list(order)], Coins(coins), k)
        lists[tuple(teams)] += 1
    exchanged = {0: 1, 1: 0, SHARED: SHARED}
    for teams, chance in lists.items():
        assert lists[tuple(exchanged[team] for team in teams)] == chance


def test_what_two_rankers_agree_on_is_nobodys(rng):
    """They differ in the second and third document, and the others tell nothing about them."""
    documents, teams = draft([["a", "b", "c", "d", "e"], ["a", "c", "b", "d", "e"]], rng, 5)
    assert documents[0] == "a"
    assert documents[3:] == ["d", "e"]
    assert teams == [SHARED, *("bc".index(document) for document in documents[1:3]), SHARED, SHARED]
    documents, teams = draft([["a", "b"], ["a", "b"]], rng, 2, credit_shared=True)
    assert sorted(teams) == [0, 1]


def test_team_draft_of_two_by_enumeration(rng):
    """Every outcome of the coins is alike."""
    rankings = [["a", "b", "c"], ["b", "c", "a"]]
    drawn = Counter(TeamDraft().interleave(rankings, rng, 3).documents for _ in range(4000))
    expected = Counter()
    for first, second in product((0, 1), repeat=2):
        shown = []
        for team in (first, 1 - first, second):
            shown.append(next(one for one in rankings[team] if one not in shown))
        expected[tuple(shown)] += 1000
    for shown, n in expected.items():
        assert drawn[shown] == pytest.approx(n, abs=4 * np.sqrt(n))


def test_balanced_by_hand():
    """Two lists, one for each who may start."""
    rankings = [list("abcd"), list("beaf")]
    made = [Balanced().interleave(rankings, np.random.default_rng(s), 6) for s in range(20)]
    lists = {shown.documents: shown for shown in made}
    assert set(lists) == {tuple("abec"), tuple("baec")}
    shown = lists[tuple("abec")]
    for clicked, outcome in (("e", -1), ("a", 1), ("ab", 0), ("bc", 1), ("ea", 0), ("", 0)):
        assert shown.preferences(np.isin(shown.documents, list(clicked)))[0, 1] == outcome


@pytest.mark.slow
def test_probabilistic_lists_have_their_chances(rng):
    rankings, tau = [["a", "b", "c"], ["c", "b", "a"]], 3.0
    drawn = Counter(Probabilistic(tau).interleave(rankings, rng, 3).documents for _ in range(6000))
    softened = [{one: j**-tau for j, one in enumerate(r, start=1)} for r in rankings]
    for shown in permutations("abc"):
        chance = 0.0
        for pickers in product((0, 1), repeat=3):
            part, left = 1 / 8, set("abc")
            for picker, one in zip(pickers, shown, strict=True):
                part *= softened[picker][one] / sum(softened[picker][other] for other in left)
                left.remove(one)
            chance += part
        assert drawn[shown] / 6000 == pytest.approx(chance, abs=4.5 * np.sqrt(0.25 / 6000))


def test_probabilistic_credit_is_the_mean_over_all_assignments(rng):
    shares = rng.dirichlet(np.ones(3), size=4)
    shown = ProbabilisticList(("a", "b", "c", "d"), shares)
    clicked = np.array([True, False, True, True])
    expected = np.zeros((3, 3))
    for pickers in product(range(3), repeat=3):
        chance = np.prod([shares[d, p] for d, p in zip((0, 2, 3), pickers, strict=True)])
        clicks = np.bincount(pickers, minlength=3)
        expected += chance * np.sign(clicks[:, None] - clicks[None, :])
    assert shown.preferences(clicked) == pytest.approx(expected, abs=1e-12)


def test_probabilistic_shares_follow_what_is_left(rng):
    shown = Probabilistic(1.0).interleave([["a", "b"], ["b", "a"]], rng, 2)
    first = {"a": [2 / 3, 1 / 3], "b": [1 / 3, 2 / 3]}[shown.documents[0]]
    assert shown.shares[0] == pytest.approx(first)
    assert shown.shares[1] == pytest.approx([0.5, 0.5])  # both have but this one


@given(st.integers(0, 10**6))
def test_optimised_interleaving_of_two_is_fair_at_every_depth(seed):
    rng = np.random.default_rng(seed)
    rankings = [rng.permutation(5).tolist() for _ in range(2)]
    lists = all_lists(rankings, 4)
    ranks = [{one: j for j, one in enumerate(r, start=1)} for r in rankings]
    credit = np.array([[[1 / rank[one] for rank in ranks] for one in shown] for shown in lists])
    chances = probabilities(credit)
    assert chances.sum() == pytest.approx(1)
    assert (chances >= 0).all()
    upto = np.einsum("l,lkr->kr", chances, credit.cumsum(axis=1))
    best = np.abs(upto[:, 0] - upto[:, 1]).max()
    alike = np.full(len(lists), 1 / len(lists))
    plain = np.einsum("l,lkr->kr", alike, credit.cumsum(axis=1))
    assert best <= np.abs(plain[:, 0] - plain[:, 1]).max() + 1e-6


def test_all_lists_of_two():
    assert set(all_lists([["a", "b"], ["b", "a"]], 2)) == {("a", "b"), ("b", "a")}
    assert all_lists([["a", "b"], ["a", "b"]], 2) == [("a", "b")]


def test_sosm_scores_the_shown_alone(rng):
    rankings = [["x", "a", "b"], ["b", "y", "a"]]
    shown = SampleOnlyScored(tau=1.0).interleave(rankings, rng, 2)
    for ranker, ranking in enumerate(rankings):
        order = sorted(shown.documents, key=lambda one: ranking.index(one) if one in ranking else 9)
        for row, document in enumerate(shown.documents):
            assert shown.credit[row, ranker] == 1 / (order.index(document) + 1)


def naive_ppm(documents, rankings, clicked):
    """Algorithm 2 of the paper, pair by pair, and without its division by the number of pairs."""
    rank = [{one: j for j, one in enumerate(r)} for r in rankings]
    first = {one: min(r.get(one, 99) for r in rank) for one in documents}
    sizes = []
    for i in range(len(documents)):
        seen = {one for r in rankings for one in r[: i + 1]} - set(documents[:i])
        sizes.append(len(seen))
    last = max(i for i, click in enumerate(clicked) if click)
    wins = np.zeros(len(rankings))
    for i, winner in enumerate(documents):
        for j, loser in enumerate(documents):
            if not clicked[i] or clicked[j] or j > last + 1:
                continue
            if min(i, j) < max(first[winner], first[loser]):
                continue
            chance = 1.0
            for x in range(*sorted((first[winner], first[loser]))):
                chance *= 1 - 1 / sizes[x]
            for r in range(len(rankings)):
                wins[r] += (rank[r].get(winner, 99) < rank[r].get(loser, 99)) / chance
    return wins


@given(st.integers(0, 10**6))
def test_ppm_is_the_papers(seed):
    rng = np.random.default_rng(seed)
    rankings = [rng.permutation(6).tolist() for _ in range(3)]
    shown = PairwisePreference().interleave(rankings, rng, 5)
    clicked = rng.random(5) < 0.4
    if not clicked.any():
        return
    wins = naive_ppm(shown.documents, rankings, clicked)
    assert shown.preferences(clicked) == pytest.approx(wins[:, None] - wins[None, :])


def test_ppm_draws_alike_from_the_candidates(rng):
    rankings = [["a", "b", "c"], ["b", "d", "a"]]
    first = Counter(
        PairwisePreference().interleave(rankings, rng, 2).documents for _ in range(6000)
    )
    for one in "ab":
        rest = {"a": "bd", "b": "ad"}[one]
        for two in rest:
            assert first[one, two] / 6000 == pytest.approx(0.25, abs=0.03)


@pytest.fixture
def judged(rng):
    grades = np.tile([2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], 20)
    return rl.QueryDataset.from_arrays(np.zeros((240, 1)), grades, group=[12] * 20)


def test_playing(judged, rng):
    rankings = rankings_of(judged, [judged.y, -judged.y])
    assert rankings[0][0][:3] == [0, 1, 2]
    played = list(play(TeamDraft(), rankings, judged, make_user("perfect"), rng, 30, k=5))
    assert len(played) == 30
    assert sum(shown.preferences(clicks)[0, 1] for shown, clicks in played) > 10


@pytest.mark.slow
def test_interleaving_is_more_sensitive_than_ab(judged, rng):
    noisy = judged.y + 1.2 * rng.normal(size=240)
    noisier = judged.y + 2.0 * rng.normal(size=240)
    found = measure_sensitivity(
        judged,
        (noisy, noisier),
        {"team draft": TeamDraft(), "optimised": Optimised()},
        make_user("informational"),
        rng,
        impressions=200,
        repeats=10,
    )
    assert found.difference > 0
    assert found.power["team draft"][-1] > found.power[AB][-1]
    assert found.right["team draft"][-1] > 0.8
    assert found.impressions_needed("team draft", share=2.0) is None


def test_binary_error():
    wins = np.array([[0, 1.0, 0.2], [-1.0, 0, -0.1], [-0.2, 0.1, 0]])
    assert binary_error(wins, [3, 1, 2]) == 0
    assert binary_error(wins, [1, 3, 2]) == 1
    assert binary_error(np.zeros((3, 3)), [1, 2, 3]) == 1


def test_errors(rng):
    with pytest.raises(DataError, match="needs two rankings; found 3"):
        Balanced().interleave([["a"]] * 3, rng)
    with pytest.raises(DataError, match="needs at least two rankings; found 1"):
        TeamDraft().interleave([["a"]], rng)
    with pytest.raises(DataError, match="needs two rankings; found 3"):
        Optimised(lists=None).interleave([["a"]] * 3, rng)
    with pytest.raises(DataError, match="tau must be above 0"):
        Probabilistic(0).interleave([["a"], ["b"]], rng)
    with pytest.raises(DataError, match="expected one for each of the 2 documents"):
        TeamDraft().interleave([["a", "b"], ["b", "a"]], rng).preferences([1])
    with pytest.raises(DataError, match="k must be"):
        TeamDraft().interleave([["a"], ["b"]], rng, 0)
    with pytest.raises(DataError, match="lists must be at least 1"):
        Optimised(lists=0).interleave([["a"], ["b"]], rng)
    with pytest.raises(DataError, match="more than 4,096 lists"):
        all_lists([list(range(40)), list(range(39, -1, -1))], 20)
    data = rl.QueryDataset.from_arrays(np.zeros((2, 1)), [1, 0], group=[2])
    with pytest.raises(DataError, match="the same nDCG@10"):
        measure_sensitivity(data, (data.y, data.y), {}, make_user("perfect"), rng)
