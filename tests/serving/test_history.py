"""A log that is imported gives the features that the batch form and a replay give, bit for bit."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError, RankloopError
from rankloop.feedback.event_sort import SortedEvents
from rankloop.serving import operations as do
from rankloop.serving.journal.action_entries import Checked
from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.feature_entries import Counted
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Ranked
from rankloop.serving.loop import Loop
from rankloop.serving.operations import history
from rankloop.serving.operations.history import LogSource
from rankloop.serving.operations.importing import import_files
from rankloop.serving.settings.service import as_settings

from .shop import FEATURES, FIELDS, catalogue, shop_settings

MATCHED = {**FEATURES, "match": {"match": ["request.query", "item.title"]}}


def make_log(rng, n=80):
    """Lines of Metarank and ours: early and late events, strays, duplicates, changes of items."""
    log, at, shown = [], 1_700_000_000, []
    for k in range(n):
        at += int(rng.integers(0, 5000))
        ids = [f"i{i}" for i in rng.choice(14, 4, replace=False)]
        match int(rng.integers(7)):
            case 0 | 1 | 2:
                request = {"query": f"red shoe {k % 3}", "user": f"u{k % 4}", "timestamp": at}
                fields = {"device": "phone", "unknown": 1}
                log.append({"ranking_id": f"r{k}", "items": ids, "fields": fields, **request})
                shown.append(ids)
            case 3 if shown:
                ranking = f"r{int(rng.integers(k + 3))}"
                event = {"ranking_id": ranking, "item": ids[0], "event_id": f"e{k % 50}"}
                log.append({**event, "timestamp": at})
                log.append({**event, "event_id": None, "type": "purchase", "timestamp": at})
            case 4:
                fields = [{"name": "price", "value": float(k)}, {"name": "later", "value": "x"}]
                event = {"event": "item", "id": f"m{k}", "item": ids[0], "fields": fields}
                log.append({**event, "timestamp": str(at)})
            case _:
                log.append({"item": ids[1], "type": "purchase", "user": "u1", "timestamp": at})
                log.append({"item": ids[1], "type": "wave", "timestamp": at})
    return log


def write(path, lines):
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture(params=range(3))
def shop(tmp_path, request):
    """A log, with its lines."""
    rng = np.random.default_rng(request.param)
    lines = make_log(rng)
    write(tmp_path / "items.jsonl", catalogue())
    write(tmp_path / "log.jsonl", lines)
    return tmp_path, lines


def settings():
    loop = shop_settings(features=MATCHED, window=60.0)
    return as_settings({"loops": {"shop": loop}}).loops["shop"]


def run(place, *logs, items=None):
    address = str(place / "shop.journal")
    with open_journal(address, "shop") as journal:
        if journal.head() == 0:
            do.configure(journal, settings())
    how = LogSource(items=items)
    return list(import_files(address, "shop", list(map(str, logs)), None, source=how))


def matrices(place):
    with open_journal(str(place / "shop.journal"), "shop") as journal:
        rankings = [r.entry for r in journal.scan() if isinstance(r.entry, Ranked)]
    return {ranked.id: ranked.matrix() for ranked in rankings}


def test_an_imported_log_has_the_features_of_the_batch_and_of_a_replay(shop):
    place, _ = shop
    said = run(place, place / "log.jsonl", items=place / "items.jsonl")
    assert any("nothing uses wave" in line for line in said)
    data = rl.compute_features(
        place / "log.jsonl", features=MATCHED, fields=FIELDS, items=place / "items.jsonl"
    )
    found = matrices(place)
    assert list(found) == data.query_ids.tolist()
    assert np.concatenate(list(found.values())).tobytes() == data.X.tobytes()
    assert len(found) > 10
    with open_journal(str(place / "shop.journal"), "shop") as journal:
        report = do.verify(journal)
        assert (report.faults, report.features_recomputed) == ([], len(found))
        head = journal.head()
        counted = [r for r in journal.scan() if isinstance(r.entry, Counted)]
        assert min(r.at for r in counted) > 1_700_000_000_000
    run(place, place / "log.jsonl")
    with open_journal(str(place / "shop.journal"), "shop") as journal:
        assert journal.head() == head  # nothing is there twice
    with Loop("shop", settings(), open_journal(str(place / "shop.journal"), "shop")) as loop:
        assert loop.published.totals.examples > 0


def test_a_log_that_does_not_fit_into_memory_makes_the_same_entries(shop, tmp_path, monkeypatch):
    place, lines = shop
    write(place / "log.jsonl", lines[::-1])
    addresses = []
    for name, at_once in (("whole", 10**6), ("parts", 20)):
        monkeypatch.setattr(history, "SortedEvents", partial(SortedEvents, at_once))
        (place / name).mkdir()
        run(place / name, place / "log.jsonl", items=place / "items.jsonl")
        addresses.append(place / name)
    whole, parts = map(contents, addresses)
    assert whole == parts
    assert len(whole) > 50


def contents(place):
    """All entries, without those that hold hashes under the key of a journal."""
    with open_journal(str(place / "shop.journal"), "shop") as journal:
        return [
            (r.position, r.at, type(r.entry).__name__, getattr(r.entry, "id", None) or r.entry)
            for r in journal.scan()
            if not isinstance(r.entry, Counted | Checked)
        ]


def test_a_log_may_come_in_parts(shop):
    place, lines = shop
    times = sorted(int(line["timestamp"]) for line in lines)
    middle = times[len(times) // 2]
    parts = [
        write(place / "one.jsonl", [x for x in lines if int(x["timestamp"]) < middle]),
        write(place / "two.jsonl", [x for x in lines if int(x["timestamp"]) >= middle]),
    ]
    for part in parts:
        run(place, part, items=place / "items.jsonl" if part == parts[0] else None)
    data = rl.compute_features(
        place / "log.jsonl", features=MATCHED, fields=FIELDS, items=place / "items.jsonl"
    )
    assert np.concatenate(list(matrices(place).values())).tobytes() == data.X.tobytes()


def test_an_import_that_was_interrupted_is_completed_by_the_next(shop, monkeypatch):
    """All its rankings are closed then, also those of the first attempt."""
    place, _ = shop
    append = history._Importer._append

    def interrupted(importer, entry, *more):
        if isinstance(entry, Closed):
            raise KeyboardInterrupt
        append(importer, entry, *more)

    with monkeypatch.context() as patched:
        patched.setattr(history._Importer, "_append", interrupted)
        patched.setattr(history, "_AT_ONCE", 5)
        with pytest.raises(KeyboardInterrupt):
            run(place, place / "log.jsonl", items=place / "items.jsonl")
    run(place, place / "log.jsonl", items=place / "items.jsonl")
    with open_journal(str(place / "shop.journal"), "shop") as journal:
        entries = [record.entry for record in journal.scan()]
    shown = {entry.id for entry in entries if isinstance(entry, Ranked)}
    assert shown
    assert {entry.ranking_id for entry in entries if isinstance(entry, Closed)} == shown


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"id": "a", "fields": {"price": "dear"}, "timestamp": 1}, "item 'a': field 'price'"),
        ({"ranking_id": "r", "items": ["a\n"], "timestamp": 1}, "not printable"),
        ({"item": "a", "type": "purchase", "value": 1e999, "timestamp": 1}, "finite"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_changes(tmp_path, line, words):
    good = {"item": "a", "type": "purchase", "timestamp": 1}
    with pytest.raises(RankloopError, match=words):
        run(tmp_path, write(tmp_path / "log.jsonl", [good, line]))
    with open_journal(str(tmp_path / "shop.journal"), "shop") as journal:
        assert journal.head() == 1


def test_a_service_that_runs_is_not_disturbed(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloop.serving.operations.lease.EXPIRES", -1.0)
    place = str(tmp_path / "shop.journal")
    log = write(tmp_path / "log.jsonl", [{"item": "a", "type": "purchase", "timestamp": 1}])
    with Loop("shop", settings(), open_journal(place, "shop")) as loop:
        loop.append(Counted("c", "a", "purchase"))
        with pytest.raises(DataError, match="stop it first"):
            run(tmp_path, log)


def test_entries_of_others_in_between_end_the_import(tmp_path, monkeypatch):
    log = write(tmp_path / "log.jsonl", [{"item": "a", "type": "purchase", "timestamp": 1}])
    run(tmp_path, log)
    with open_journal(str(tmp_path / "shop.journal"), "shop") as other:
        load = do.history.load_features

        def late(*args):
            live = load(*args)
            other.append([make_row(Counted("other", "a", "purchase"), 0)])
            return live

        monkeypatch.setattr(do.history, "load_features", late)
        more = write(tmp_path / "more.jsonl", [{"item": "b", "type": "purchase", "timestamp": 2}])
        with pytest.raises(DataError, match="something else was appended"):
            run(tmp_path, more)
