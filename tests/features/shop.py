"""Definitions with every kind of feature, and histories of a small shop."""

from hypothesis import strategies as st

from rankloop.features import Change, Definitions, Request

FIELDS = {
    "item": {
        "title": "text",
        "price": "number",
        "stocked": "boolean",
        "brand": "category",
        "genres": "categories",
        "released": "date",
        "image": "vector(2)",
    },
    "user": {"country": "category", "taste": "vector(2)"},
    "request": {"query": "text", "device": "category", "image": "vector(2)", "budget": "number"},
}
FEATURES = {
    "bm": {"given": "number"},
    "price": {"number": "item.price"},
    "budget": {"number": "request.budget"},
    "stocked": {"boolean": "item.stocked"},
    "brand": {"category": "item.brand", "limit": 2, "buckets": 3},
    "genres": {"categories": "item.genres", "limit": 2, "buckets": 2},
    "country": {"category": "user.country"},
    "device": {"category": "request.device"},
    "age": {"age": "item.released"},
    "words": {"words": "item.title"},
    "size": {"size": "item.genres"},
    "image": {"vector": "item.image"},
    "alike": {"cosine": ["request.image", "item.image"]},
    "dot": {"dot": ["item.image", "user.taste"]},
    "far": {"distance": ["request.image", "item.image"]},
    "bm25": {"match": ["request.query", "item.title"]},
    "terms": {"match": ["request.query", "item.title"], "by": "terms"},
    "ngrams": {"match": ["request.query", "item.title"], "by": "ngrams"},
    "ctr": {"rate": "click", "half_life": "7d", "prior": 10},
    "fair": {"rate": "click", "of": "examination", "half_life": "7d", "prior": 2},
    "ctr_q": {"rate": "click", "per": ["request.query", "item"], "prior": 0},
    "week": {"rate": "click", "window": "7d", "prior": 1},
    "brand_r": {"rate": "buy", "of": "click", "per": "item.brand", "half_life": "30d"},
    "genre_r": {"rate": "click", "per": ["request.device", "item.genres"], "half_life": "12h"},
    "country_r": {"rate": "click", "per": ["user.country", "item"]},
    "rating": {"mean": "rating", "half_life": "1d"},
    "sold": {"count": "buy", "half_life": "30d"},
    "shown": {"count": "impression", "per": "session"},
    "seen": {"since": "impression", "per": ["user", "item"]},
    "taste": {"affinity": "item.genres", "to": "click", "half_life": "30d"},
    "liking": {"affinity": "item.brand", "to": "rating", "by": "mean", "per": "user"},
    "hour": {"clock": "hour", "offset": 2},
    "day": {"clock": "weekday"},
    "both": {"cross": ["request.device", "item.brand"], "buckets": 5},
    "cheap": {"relative": "price", "by": "rank"},
    "share": {"relative": "price", "by": "share"},
    "middle": {"relative": "price", "by": "above_middle"},
    "rare": {"diversity": "item.brand", "top": 2},
}
DEFINITIONS = Definitions.read(FIELDS, FEATURES)
EXAMINATION = (0.9, 0.5, 0.25)
ITEMS = ("a", "b", "c", "d")
DAY = 86_400_000

_times = st.integers(0, 40 * DAY)
_items = st.lists(st.sampled_from(ITEMS), min_size=1, max_size=4, unique=True)
_numbers = st.integers(-8, 8).map(lambda k: k / 2)
_vectors = st.lists(_numbers, min_size=2, max_size=2)


def _some(values):
    return st.fixed_dictionaries({}, optional={k: st.none() | v for k, v in values.items()})


_requests = st.builds(
    Request,
    user=st.sampled_from((b"u", b"u", b"v", None)),
    session=st.sampled_from((None, b"s", b"t")),
    query=st.sampled_from((b"q", b"q", b"p", None)),
    fields=_some(
        {"device": st.sampled_from(("phone", "desk")), "image": _vectors, "budget": _numbers}
    ),
    text=st.sampled_from(({}, {"query": "red shoe"}, {"query": "Blue, blue hat!"}, {"query": ""})),
)
_item_fields = _some(
    {
        "title": st.sampled_from(("Red shoe", "blue hat and red hat", "", "reds")),
        "price": _numbers,
        "stocked": st.booleans(),
        "brand": st.sampled_from(("acme", "best", "crown", "dune")),
        "genres": st.lists(st.sampled_from(("war", "fun", "art", "sea")), unique=True),
        "released": st.integers(0, 60 * DAY),
        "image": _vectors,
    }
)
_user_fields = _some({"country": st.sampled_from(("at", "be")), "taste": _vectors})
_modes = st.sampled_from(("put", "patch", "delete"))
_rankings = st.sampled_from(("r1", "r2", "r3"))
steps = st.one_of(
    st.tuples(
        st.just("items"),
        st.builds(Change, id=st.sampled_from(ITEMS), fields=_item_fields, mode=_modes),
    ),
    st.tuples(
        st.just("users"),
        st.builds(Change, id=st.sampled_from((b"u", b"v")), fields=_user_fields, mode=_modes),
    ),
    st.tuples(st.just("show"), _rankings, _items, _requests, _times, st.integers(1, 3)),
    st.tuples(
        st.just("observe"),
        st.sampled_from(ITEMS),
        st.sampled_from(("click", "click", "rating", "buy", "impression")),
        _numbers,
        _times,
        st.none() | _rankings,
        st.none() | _requests,
    ),
    st.tuples(st.just("forget"), st.sampled_from(([b"u"], [b"s", b"v"], [b"q"]))),
)
# Most histories begin with a catalogue and an event of every type, for later ones to meet.
_START = (
    (
        "items",
        Change("a", {"title": "Red shoe", "price": 2.5, "brand": "acme", "genres": ["war", "fun"]}),
    ),
    (
        "items",
        Change("b", {"title": "blue hat", "price": 1, "brand": "best", "genres": ["fun", "art"]}),
    ),
    ("items", Change("c", {"price": 4, "brand": "crown", "genres": ["sea"], "image": [1, 2]})),
    ("users", Change(b"u", {"country": "at", "taste": [1, -1]})),
    ("show", "r1", ["a", "b", "c"], Request(b"u", b"s", b"q", {"device": "phone"}), DAY, 1),
    ("observe", "b", "click", 1.0, DAY + 1000, "r1", None),
    ("observe", "a", "rating", 4.0, DAY + 2000, "r1", None),
    ("observe", "c", "rating", 1.0, DAY + 3000, "r1", None),
    ("observe", "b", "buy", 1.0, DAY + 4000, "r1", None),
)
histories = st.tuples(st.sampled_from((_START, _START, ())), st.lists(steps, max_size=25)).map(
    lambda parts: [*parts[0], *parts[1]]
)
queries = st.tuples(_items, _requests, _times)


def apply(state, step):
    """Make one step of a history."""
    name, *values = step
    if name in ("items", "users"):
        state.change_items(name, values, 0)
    else:
        getattr(state, name)(*values)
