"""Features after each entry are the same bits live, after a restart, and in a replay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rankloop.features.request import Request
from rankloop.serving.engine.joins import Joins
from rankloop.serving.journal.action_entries import Configured, Forgotten
from rankloop.serving.journal.base import Record
from rankloop.serving.journal.feature_entries import (
    Asker,
    Computed,
    Counted,
    ItemsChanged,
    UsersChanged,
)
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Observed, Paged, Ranked, pack_features
from rankloop.serving.live_features.fold import FeatureFold
from rankloop.serving.live_features.saving import copy_fold, restore_fold
from rankloop.serving.loop import Loop
from rankloop.serving.operations.compact import compact
from rankloop.serving.operations.features import check_features
from rankloop.serving.settings.loop import LoopSettings
from rankloop.serving.threads.live_joins import LiveJoins
from rankloop.serving.threads.loading import load_features

from .shop import FEATURES, FIELDS
from .tools import until

REPOSITORY = Path(__file__).resolve().parents[2]

SETTINGS = LoopSettings(features=FEATURES, fields=FIELDS, check_every=3, max_closed=2, max_early=3)
ITEMS = ["a", "b", "c", "d"]
USERS = [b"anna", b"bert"]


class Saved:
    """A store of one saved fold."""

    where = "memory"

    def __init__(self, position, parts):
        self._position, self._parts = position, parts

    def fold_positions(self, until=None):
        return [self._position]

    def fold_parts(self, position):
        return iter(self._parts)


def new_live(entries):
    fold = FeatureFold(SETTINGS, 1, lambda position: entries[position - 1])
    return LiveJoins(0, None, Joins(), 0, fold)


def restart(live, entries):
    """Save and restore; what is saved is all that is needed."""
    copy = copy_fold(live.features, live.settings, live.joins)
    position, parts = copy.head.position, copy.named_parts
    restored = restore_fold(
        Saved(position, parts), SETTINGS, lambda position: entries[position - 1]
    )
    return LiveJoins(position, restored.settings, restored.joins, 0, restored.fold)


def request_of(person):
    return Request(user=person, query=b"shoes" if person else None, fields={"device": "phone"})


item = st.sampled_from(ITEMS)
person = st.sampled_from([None, *USERS])
change = st.fixed_dictionaries(
    {},
    optional={
        "price": st.one_of(st.none(), st.floats(0, 100, width=32)),
        "brand": st.sampled_from(["x", "y", "z"]),
        "sale": st.booleans(),
        "unknown today": st.integers(),
    },
)
step = st.one_of(
    st.tuples(st.just("rank"), st.lists(item, min_size=1, unique=True), person),
    st.tuples(st.just("click"), st.integers(0, 5), item, st.sampled_from(["click", "purchase"])),
    st.tuples(st.just("count"), item, person),
    st.tuples(st.just("items"), st.sampled_from(["put", "patch", "delete"]), item, change),
    st.tuples(st.just("users"), st.sampled_from(USERS)),
    st.tuples(st.just("page"), st.integers(0, 5)),
    st.tuples(st.just("close"), st.integers(0, 5)),
    st.tuples(st.just("forget"), st.sampled_from(USERS)),
    st.tuples(st.just("restart")),
)


def make_entry(n, step, live, at):
    match step:
        case ("rank", items, who):
            matrix = live.compute(items, request_of(who), at, None)
            features, compressed = pack_features(matrix.X)
            asker = Asker(who, None, b"shoes" if who else None, {"device": "phone"})
            return Ranked(
                f"r{n % 6}-{n}" if n > 5 else f"r{n}",
                items,
                matrix.X.shape[1],
                features,
                list(range(min(2, len(items)))),
                np.zeros(len(items)).tobytes(),
                compressed=compressed,
                computed=Computed(at, matrix.after, matrix.columns, b"", asker),
            )
        case ("click", ranking, clicked, kind):
            return Observed(f"e{n}", f"r{ranking}", clicked, kind)
        case ("count", counted, who):
            return Counted(f"c{n}", counted, "purchase", asker=Asker(who))
        case ("items", mode, name, fields):
            return ItemsChanged(f"i{n}", mode, [(name, None if mode == "delete" else fields)])
        case ("users", who):
            return UsersChanged(f"u{n}", "put", [(who, {"country": "ch"})])
        case ("page", ranking):
            return Paged(f"r{ranking}", 2)
        case ("close", ranking):
            return Closed(f"r{ranking}")
        case ("forget", who):
            return Forgotten(f"f{n}", [], counters=(who,))
    raise AssertionError(step)


def bits(live, at):
    return [live.compute(ITEMS, request_of(who), at, None).X.tobytes() for who in (None, *USERS)]


@hypothesis_settings(max_examples=40)
@given(st.lists(step, max_size=25))
def test_live_restarted_and_replayed_features_are_the_same_bits(steps):
    entries = []
    live = new_live(entries)
    times, seen = [], []

    def apply(entry, at):
        entries.append(entry)
        times.append(at)
        live.follow([Record(len(entries), at, entry)], at)

    apply(Configured(SETTINGS.to_bytes(), 1), 0)
    for n, one in enumerate(steps):
        if one[0] == "restart":
            live = restart(live, entries)
            continue
        apply(make_entry(n, one, live, 1000 * n), 1000 * n)
        seen.append(bits(live, 1000 * n + 500))
    again, matrices = new_live(entries), []
    for position, (entry, at) in enumerate(zip(entries, times, strict=True), start=1):
        if isinstance(entry, Ranked):  # what was shown is what is computed again
            computed = entry.computed
            assert computed.after == again.position
            X = again.compute(entry.items, request_of(computed.asker.user), computed.at, None).X
            assert X.tobytes() == entry.matrix().tobytes()
        again.follow([Record(position, at, entry)], at)
        matrices.append(bits(again, at + 500))
    assert matrices[1:] == seen
    assert again.features.digest() == live.features.digest()


def follow(*entries):
    live = new_live(list(entries))
    for position, entry in enumerate(entries, start=1):
        live.follow([Record(position, 1000 * position, entry)], 0)
    return live


def shown(name="r0", items=("a", "b"), who=None):
    n = len(items)
    computed = Computed(0, 0, 1, b"", Asker(who))
    scores = np.zeros(n).tobytes()
    return Ranked(name, list(items), 1, bytes(4 * n), list(range(n)), scores, computed=computed)


def clicks(live, item="a"):
    return live.describe("items", item, 0)["counters"]["ctr"]


def test_early_and_late_events_count_and_strays_do_not():
    early = Observed("e1", "r0", "a")
    stray = Observed("e2", "r0", "z")
    live = follow(Configured(SETTINGS.to_bytes(), 1), early, stray, shown())
    assert clicks(live)["n"] == 1
    assert clicks(live, "z") == {"n": 0, "m": 0}
    live = follow(
        Configured(SETTINGS.to_bytes(), 1), shown(), Closed("r0"), Observed("late", "r0", "a")
    )
    assert clicks(live)["n"] > 0.99
    assert clicks(live)["m"] > 0.99


def test_fields_that_are_not_defined_any_more_are_left_out():
    fields = {"price": 3, "colour": "red", "brand": ["no", "text"]}
    live = follow(Configured(SETTINGS.to_bytes(), 1), ItemsChanged("i", "put", [("a", fields)]))
    known = live.describe("items", "a", 0)["fields"]
    assert (known["price"], known["brand"]) == (3, None)
    assert live.features.misfits == 2


def test_who_is_forgotten_has_no_counters():
    entries = (Configured(SETTINGS.to_bytes(), 1), shown(who=b"anna"), Observed("e", "r0", "a"))
    anna = Request(user=b"anna")
    column = SETTINGS.names.index("brand_user")
    known = ItemsChanged("i", "put", [("a", {"brand": "x"}), ("b", {"brand": "y"})])
    live = follow(entries[0], known, *entries[1:])
    before = live.compute(["a"], anna, 5000, None).X[0, column]
    gone = follow(entries[0], known, *entries[1:], Forgotten("f", [], counters=(b"anna",)))
    nobody = gone.compute(["a"], Request(user=b"other"), 5000, None).X[0, column]
    assert gone.compute(["a"], anna, 5000, None).X[0, column] == nobody
    assert before != nobody


def test_two_processes_on_one_journal_compute_the_same(address):
    settings = msgspec.structs.replace(SETTINGS, rankers=("slam",))
    with (
        Loop("loop", settings, open_journal(*address)) as one,
        Loop("loop", settings, open_journal(*address)) as other,
    ):
        one.append(ItemsChanged("i", "put", [("a", {"price": 3}), ("b", {"brand": "x"})]))
        for n, loop in enumerate((one, other, one, other)):
            name = f"r{n}"
            loop.append(make_entry(n, ("rank", ["a", "b"], b"anna"), loop.live, loop.now()))
            loop.append(Observed(f"e{n}", name, "a"))
        until(lambda: one.head == other.head == one.live.position == other.live.position)
        digests = [loop.live.features.digest() for loop in (one, other)]
        assert digests[0] == digests[1]
        assert bits(one.live, 10**13) == bits(other.live, 10**13)
    with open_journal(*address) as journal:
        assert check_features(journal).faults == []


SERVER = """
import sys
from rankloop.serving.journal.feature_entries import Counted, ItemsChanged
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.loop import Loop
from tests.serving.test_live_features import SETTINGS
with Loop("loop", SETTINGS, open_journal(sys.argv[1], "loop")) as loop:
    loop.append(ItemsChanged("i", "put", [("a", {"price": 3})]))
    n = 0
    while True:
        loop.append(Counted(f"c{n}", "a", "purchase"))
        print(n, flush=True)
        n += 1
"""


def test_no_acknowledged_event_is_lost_by_a_kill(tmp_path):
    path = tmp_path / "a.journal"
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(path)], stdout=subprocess.PIPE, cwd=REPOSITORY
    ) as process:
        for _ in range(20):
            last = int(process.stdout.readline())
        process.kill()
    with Loop("loop", SETTINGS, open_journal(str(path), "loop")) as loop:
        sold = loop.live.describe("items", "a", 0)["counters"]["sold"]["n"]
        stored = loop.read(lambda j: sum(isinstance(r.entry, Counted) for r in j.scan()))
        assert stored > last
        assert round(sold) == stored
        again = load_features(loop._journal, loop.live.features.settings, 1, 0, loop.live.position)
        assert again.features.digest() == loop.live.features.digest()


def test_features_survive_a_compaction(address, tmp_path):
    settings = msgspec.structs.replace(SETTINGS, rankers=("slam",))
    loop = Loop("loop", settings, open_journal(*address))
    loop.append(ItemsChanged("i", "put", [("a", {"price": 3}), ("b", {"brand": "x"})]))
    for n in range(6):
        name = f"r{n}"
        loop.append(make_entry(n, ("rank", ["a", "b"], b"anna"), loop.live, loop.now()))
        loop.append(Observed(f"e{n}", name, "a"), Closed(name))
    loop.settle()
    with open_journal(*address) as journal:
        last = compact(journal, tmp_path / "old.parquet")
    until(lambda: loop.head > last)
    until(lambda: loop.live.position == loop.head)
    expected = bits(loop.live, 10**13)
    loop.stop(save=False)  # as after kill -9: nothing else has saved the features
    with Loop("loop", settings, open_journal(*address)) as loop:
        assert bits(loop.live, 10**13) == expected
        loop.append(make_entry(7, ("rank", ["a", "b"], None), loop.live, loop.now()))
    with open_journal(*address) as journal:
        assert check_features(journal) == (1, [])
