"""One suite for all journals: order, once, durable, shared by threads and processes."""

from __future__ import annotations

import threading

import msgspec
import numpy as np
import pytest

from rankloop.serving.journal.action_entries import Configured
from rankloop.serving.journal.base import AppendResult, JournalError, SavedState, make_row
from rankloop.serving.journal.cache import EntryCache
from rankloop.serving.journal.entries import decode, digest_of, encode
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import (
    Closed,
    Judged,
    Observed,
    Ranked,
    pack_features,
)


def event(number, item="a"):
    return make_row(Observed(f"e{number}", "r1", item), 1000 + number)


def ranked(number, scores=(0.0, 1.0), items=("a", "b"), width=3):
    features, compressed = pack_features(np.arange(len(items) * width, dtype=np.float32))
    entry = Ranked(
        f"r{number}",
        list(items),
        width,
        features,
        [1, 0],
        np.array(scores).tobytes(),
        compressed=compressed,
    )
    return make_row(entry, number)


def test_entries_come_back_as_they_were_in_order(journal):
    rows = [ranked(1), event(1), make_row(Closed("r1"), 7), make_row(Configured(b"{}", 1), 8)]
    outcomes = journal.append(rows)
    assert [(one.status, one.position) for one in outcomes] == [("new", n) for n in (1, 2, 3, 4)]
    records = journal.read()
    assert [(r.position, r.at, r.entry) for r in records] == [
        (n, row.at, decode(row.body)) for n, row in enumerate(rows, start=1)
    ]
    assert journal.head() == 4
    assert journal.at(2) == decode(rows[1].body)
    assert [r.position for r in journal.read(1, until=3)] == [2, 3]
    assert [r.position for r in journal.scan(0, batch=1)] == [1, 2, 3, 4]
    assert journal.find("event:e1").position == 2
    assert journal.find("event:e2") is None


def test_what_is_sent_twice_is_stored_once(journal):
    journal.append([event(1)])
    outcomes = journal.append([event(1), event(2), event(2), event(1, item="b"), event(2, "c")])
    assert [(one.status, one.position) for one in outcomes] == [
        ("duplicate", 1),
        ("new", 2),
        ("duplicate", 2),
        ("conflict", 1),
        ("conflict", 2),
    ]
    assert [r.entry.item for r in journal.read()] == ["a", "a"]


def test_a_ranking_is_the_same_where_the_question_is(journal):
    journal.append([ranked(1)])
    asked_again = ranked(1, scores=(5.0, 6.0))
    another = ranked(1, items=("a", "c"))
    assert [o.status for o in journal.append([asked_again, another])] == ["duplicate", "conflict"]


def test_what_an_earlier_version_stored_is_recognised(journal):
    """Its fingerprints were digests of whole entries, in the order in which grades were sent."""
    row = make_row(Judged("j", "r1", 1, {"b": 1.0, "a": 0.0}), 1)
    old = msgspec.structs.replace(row, fingerprint=digest_of(row.body))
    assert old.fingerprint != row.fingerprint
    another = make_row(Judged("j", "r1", 1, {"b": 1.0, "a": 1.0}), 1)
    answers = journal.append([old, row, another])
    assert [one.status for one in answers] == ["new", "duplicate", "conflict"]
    assert journal.find_faults() == []


def test_a_batch_is_stored_wholly_or_not_at_all(journal):
    journal.append([event(1)])
    no_time = msgspec.structs.replace(event(3), at=2**63)  # which no store accepts
    with pytest.raises((JournalError, OverflowError)):
        journal.append([event(2), no_time])
    assert journal.head() == 1
    assert journal.append([event(2)]) == [AppendResult("new", 2)]


def test_entries_survive_closing_and_are_seen_by_others(address):
    with open_journal(*address) as one, open_journal(*address) as other:
        one.append([event(1)])
        other.append([event(2)])
        one.append([event(3)])
        assert [r.entry.id for r in other.read()] == ["e1", "e2", "e3"]
    with open_journal(*address) as again:
        assert again.head() == 3


def test_many_writers_leave_no_gap_and_lose_nothing(address):
    """Each of four writers appends under its own and under shared keys."""
    open_journal(*address).close()
    results = {}

    def write(writer):
        with open_journal(*address) as journal:
            results[writer] = [
                outcome
                for n in range(20)
                for outcome in journal.append(
                    [make_row(Observed(f"{writer}-{n}", "r", "a"), n), make_row(Closed(f"r{n}"), n)]
                )
            ]

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_journal(*address) as journal:
        records = list(journal.scan())
    assert [r.position for r in records] == list(range(1, 4 * 20 + 20 + 1))
    closings = [outcome for outcomes in results.values() for outcome in outcomes[1::2]]
    assert sum(outcome.status == "new" for outcome in closings) == 20
    for writer, outcomes in results.items():
        for n, outcome in enumerate(outcomes[::2]):
            assert records[outcome.position - 1].entry.id == f"{writer}-{n}"


def test_a_follower_is_woken(journal):
    follower = journal.another()
    follower.wait(0.01)
    timer = threading.Timer(0.1, lambda: appender.append([event(1)]))
    appender = journal.another()
    timer.start()
    for _ in range(100):
        follower.wait(5)
        if follower.head() == 1:
            break
    timer.join()
    assert follower.head() == 1
    follower.close()
    appender.close()


def test_one_lease(address):
    with open_journal(*address) as one, open_journal(*address) as other:
        assert one.lead()
        assert one.lead()
        assert not other.lead()
        one.close()
        assert other.lead()


def test_states_newest_first_and_only_a_few(journal):
    for position in (3, 1, 2, 4):
        journal.save(SavedState(position, f"d{position}", bytes(position)), keep=3)
    assert journal.states() == [SavedState(n, f"d{n}", bytes(n)) for n in (4, 3, 2)]
    assert journal.states(until=3)[0].position == 3
    journal.save(SavedState(4, "other", b"x"))
    assert journal.states()[0] == SavedState(4, "other", b"x")


def test_features_of_any_size_come_back():
    for n in (1, 200, 400):
        X = np.random.default_rng(n).normal(size=(n, 46)).astype(np.float32)
        features, compressed = pack_features(X)
        assert compressed == (n == 400)
        entry = Ranked(
            "r", [str(i) for i in range(n)], 46, features, [], b"", compressed=compressed
        )
        again = decode(encode(entry))
        assert np.array_equal(again.matrix(), X)


def test_bytes_that_are_no_entry():
    with pytest.raises(ValueError, match="not a journal entry"):
        decode(b"\x81\xa4kind\xa5other")


def test_no_entry_beyond_the_end(journal):
    with pytest.raises(JournalError, match="there is no entry 5"):
        journal.at(5)


def test_known_keys_and_other_writers_among_many_new_entries(journal):
    journal.append([event(250)])
    with journal.another() as other:
        other.append([event(1000)])
        outcomes = journal.append([event(number) for number in range(300)])
        assert outcomes[250] == AppendResult("duplicate", 1)
        new = outcomes[:250] + outcomes[251:]
        assert new == [AppendResult("new", position) for position in range(3, 302)]
        assert other.append([event(1001), event(0)]) == [
            AppendResult("new", 302),
            AppendResult("duplicate", 3),
        ]
    assert [record.position for record in journal.scan()] == list(range(1, 303))


def test_the_newest_entries_are_read_from_memory_while_they_are_there(journal):
    recent = EntryCache(max_bytes=1000)
    journal.append([event(number) for number in range(20)])
    records = list(recent.follow(journal, 0))
    assert recent.get(1) is None
    assert recent.get(20) == records[19]
    assert recent.read(0, 20, 3, journal) == records[:3]
    assert recent.read(18, 20, 9, None) == records[18:]
