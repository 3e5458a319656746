"""Live features are what they are defined to be, whatever happened in whichever order."""

import numpy as np
import pytest
from hypothesis import given, settings

from rankloop.exceptions import DataError
from rankloop.features import Change, Definitions, FeatureState, Request

from .shop import DAY, DEFINITIONS, EXAMINATION, FEATURES, FIELDS, ITEMS, apply, histories, queries
from .twin import ANY, Twin

SENT = np.array([[1.5], [2.5], [np.nan], [0.5]], np.float32)


def lived(history):
    state = FeatureState(DEFINITIONS, EXAMINATION)
    for step in history:
        apply(state, step)
    return state


def same(a, b):
    return a.tobytes() == b.tobytes()


@given(history=histories, query=queries)
def test_every_feature_is_its_definition_on_the_whole_history(history, query):
    state, twin = lived(history), Twin(FIELDS, FEATURES, EXAMINATION)
    for step in history:
        apply(twin, step)
    items, request, at = query
    found = state.matrix(items, request, at, SENT[: len(items)])
    expected = np.array(twin.matrix(items, request, at, SENT[: len(items)].tolist()))
    hashed = expected == ANY
    assert np.isfinite(found[hashed]).all()
    np.testing.assert_allclose(
        np.where(hashed, 0, found), np.where(hashed, 0, expected), rtol=2e-6, atol=2e-6
    )


@given(history=histories, query=queries)
@settings(max_examples=50)
def test_a_restored_state_goes_on_with_the_same_bits(history, query):
    items, request, at = query
    middle = len(history) // 2
    state = lived(history[:middle])
    restored = FeatureState.from_parts(DEFINITIONS, list(state.to_parts()))
    for step in history[middle:]:
        apply(state, step)
        apply(restored, step)
    assert restored.digest() == state.digest()
    assert list(restored.to_parts()) == list(state.to_parts())
    assert same(restored.matrix(items, request, at), state.matrix(items, request, at))


@given(history=histories, query=queries)
@settings(max_examples=25)
def test_reading_changes_nothing(history, query):
    read, unread = FeatureState(DEFINITIONS, EXAMINATION), lived(history)
    for step in history:
        apply(read, step)
        read.matrix(*query)
        read.describe("items", "a")
        read.statistics()
    assert read.digest() == unread.digest()
    assert list(read.to_parts()) == list(unread.to_parts())


def small(features, **limits):
    fields = {"item": {"brand": "category", "price": "number"}}
    return FeatureState(Definitions.read(fields, features), **limits)


def test_the_least_recently_changed_key_goes():
    state = small({"n": {"count": "click"}}, max_keys=2)
    for item in ("a", "b", "a", "c"):
        state.observe(item, "click", 1.0, 0)
        state.matrix(["b"], Request(), 0)  # reading keeps nothing alive
    assert state.matrix(["a", "b", "c"], Request(), 0).tolist() == [[2], [0], [1]]
    (counter,) = state.statistics()["counters"].values()
    assert (counter["keys"], counter["evicted"]) == (2, 1)
    restored = FeatureState.from_parts(state.definitions, state.to_parts())
    for s in (state, restored):
        s.observe("d", "click", 1.0, 0)
        assert s.matrix(["a", "c", "d"], Request(), 0).tolist() == [[0], [1], [1]]


def test_the_oldest_ranking_goes():
    state = small({"n": {"rate": "click", "per": "user", "prior": 0}}, max_rankings=2)
    for ranking in ("r1", "r2", "r3"):
        state.show(ranking, ["a"], Request(user=b"u"), 0)
    assert state.statistics()["rankings"] == 2
    state.observe("a", "click", 1.0, 0, "r1")  # whose user is no longer known
    state.observe("a", "click", 1.0, 0, "r3")
    assert state.matrix(["a"], Request(user=b"u"), 0)[0, 0] == np.float32(1 / 3)


def test_many_rankings_come_and_go():
    state = small({"n": {"rate": "click", "per": "user", "prior": 0}}, max_rankings=50)
    for k in range(5000):
        state.show(f"r{k}", ["a"], Request(user=b"u"), k)
        state.observe("a", "click", 1.0, k, f"r{max(0, k - 49)}")
    assert state.statistics()["rankings"] == 50
    assert state.matrix(["a"], Request(user=b"u"), 0)[0, 0] == np.float32(4951 / 5000)


def test_many_keys_and_items_are_all_found_again():
    state = small({"n": {"count": "click"}, "p": {"number": "item.price"}})
    ids = [f"item{k}" for k in range(3000)]
    state.change_items("items", [Change(i, {"price": k}) for k, i in enumerate(ids)], 0)
    state.change_items("items", [Change(i, mode="delete") for i in ids[::3]], 0)
    state.change_items("items", [Change(i, {"price": -1}) for i in ids[::6]], 0)
    for item in ids:
        state.observe(item, "click", 1.0, 0)
    prices = [-1 if k % 6 == 0 else np.nan if k % 3 == 0 else k for k in range(3000)]
    found = state.matrix(ids, Request(), 0)
    np.testing.assert_array_equal(found, np.array([[1] * 3000, prices], np.float32).T)
    assert state.statistics()["items"] == 2500


def test_a_rate_counts_an_item_once_a_ranking_and_a_count_every_event():
    state = small({"r": {"rate": "click", "prior": 0}, "n": {"count": "click"}})
    state.show("r1", ["a", "b"], Request(), 0)
    state.show("r1", ["b", "c"], Request(), 0, first_place=3)
    for _ in range(3):
        state.observe("b", "click", 1.0, 0, "r1")
    assert state.matrix(["a", "b", "c"], Request(), 0).tolist() == [[0, 0], [1, 3], [0, 0]]


def test_clicks_at_places_that_few_see_count_more():
    state = small(
        {
            "plain": {"rate": "click", "prior": 0},
            "fair": {"rate": "click", "of": "examination", "prior": 0},
        },
        examination=[1.0, 0.25],
    )
    for k in range(4):
        state.show(f"r{k}", ["top", "low"], Request(), 0)
    state.observe("top", "click", 1.0, 0, "r0")
    state.observe("low", "click", 1.0, 0, "r0")
    found = state.matrix(["top", "low"], Request(), 0)
    assert found.tolist() == [[0.25, 0.25], [0.25, 1.0]]


def test_a_ranking_sees_nothing_of_itself():
    state = small({"r": {"rate": "click"}, "n": {"count": "impression"}})
    assert np.isnan(state.matrix(["a"], Request(), 0)[0, 0])  # nothing is known yet
    state.show("r1", ["a"], Request(), 0)
    assert state.matrix(["a"], Request(), 0).tolist() == [[0, 1]]


def test_bad_changes_are_refused_by_name_and_change_nothing():
    state = FeatureState(DEFINITIONS, max_items=2)
    good = Change("a", {"price": 1})
    for bad, words in (
        (Change("b", {"pric": 1}), "item 'b': unknown field 'pric'; did you mean 'price'"),
        (Change("b", {"price": "1"}), "item 'b': field 'price' must be a finite number; found '1'"),
        (Change("b", {"price": float("nan")}), "must be a finite number"),
        (Change("b", {"price": 10**400}), "must be a finite number"),
        (Change("b", {"image": [1]}), "a list of 2 finite numbers; found \\[1\\] \\(of 1 values"),
        (Change("b", {"brand": "\ud800"}), "must be a text"),
        (Change("b", {"released": "soon"}), "must be a date"),
        (Change("", {}), "an id must have"),
    ):
        with pytest.raises(DataError, match=words):
            state.change_items("items", [good, bad], 0)
        with pytest.raises(DataError, match=words):
            state.check_items("items", [good, bad])
    with pytest.raises(DataError, match="3 new items beside 0 would be more than 2"):
        state.change_items("items", [Change(i, {}) for i in "abc"], 0)
    assert state.digest() == FeatureState(DEFINITIONS).digest()
    assert state.statistics()["items"] == 0


def test_a_request_with_an_unknown_field_is_refused():
    state = FeatureState(DEFINITIONS)
    with pytest.raises(DataError, match="the request: unknown field 'devise'"):
        state.matrix(["a"], Request(fields={"devise": "x"}), 0)
    with pytest.raises(DataError, match="the request: field 'device' must be"):
        state.show("r", ["a"], Request(fields={"device": 1.5}), 0)
    with pytest.raises(DataError, match="found given values of the shape"):
        state.matrix(["a"], Request(), 0, np.zeros((1, 2), np.float32))


def test_describe_returns_what_was_sent():
    state = FeatureState(DEFINITIONS)
    fields = {
        "title": "Red shoe",
        "price": 1.5,
        "stocked": True,
        "brand": "acme",
        "genres": ["war"],
        "released": float(DAY),
        "image": [1.0, 2.0],
    }
    state.change_items("items", [Change("a", fields)], 0)
    state.observe("a", "buy", 1.0, 0)
    about = state.describe("items", "a")
    assert about["fields"] == fields
    assert about["counters"]["sold"]["n"] == 1
    assert state.describe("items", "b")["fields"] is None
    assert state.labels()["brand: category 1"] == "brand = acme"
    assert state.labels()["genres[0]"] == "genres has war"


def test_damaged_and_foreign_parts_are_refused():
    state = lived([("items", Change("a", {"brand": "x", "genres": ["u"], "title": "t"}))])
    parts = dict(state.to_parts())
    other = Definitions.of_given(["x"])
    with pytest.raises(DataError, match="other definitions"):
        FeatureState.from_parts(other, parts.items())
    for name, part in parts.items():
        with pytest.raises(DataError, match="damaged"):
            FeatureState.from_parts(DEFINITIONS, {**parts, name: part[:-1]}.items())
        with pytest.raises(DataError, match="damaged"):
            FeatureState.from_parts(DEFINITIONS, {**parts, name: part[: len(part) // 2]}.items())


def test_the_same_history_gives_these_bits():
    """A golden digest: it changes only with the fold itself, on no machine and no version."""
    state = FeatureState(DEFINITIONS, EXAMINATION)
    for k in range(300):
        item, user = ITEMS[k % 4], (b"u", b"v", None)[k % 3]
        request = Request(user, b"s", (b"q", None)[k % 2], {"device": ("phone", "desk")[k % 2]})
        price, brand = k / 7, f"brand{k % 5}"
        change = Change(
            item, {"price": price, "brand": brand, "genres": [f"g{k % 3}", "h"]}, "patch"
        )
        state.change_items("items", [change], 0)
        state.show(f"r{k}", ITEMS[k % 3 :], request, k * DAY // 7)
        state.observe(
            item, ("click", "rating", "buy")[k % 3], k % 5, k * DAY // 7 + 99, f"r{k - 1}"
        )
    matrix = state.matrix(ITEMS, Request(b"u", query=b"q", fields={"device": "desk"}), 50 * DAY)
    assert state.digest().hex() == "eee1196bb0f5702d294a38c2643024e5"
    tail = "cdcc4cbf00000040000080400000000000000000726e7d3f004912be0000803f"
    assert matrix[0].tobytes().hex()[-64:] == tail
