"""What operators do with journals: in both stores, and from the command line."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli.app import app
from rankloop.serving import operations as do
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.snapshots import load_engine, replay
from rankloop.serving.journal.base import JournalError, make_row
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Observed
from rankloop.serving.loop import Loop

from .tools import click, ranked, small


@pytest.fixture
def lived(address, rng):
    """The address of a journal with a past, and the digest that it leads to."""
    with Loop("loop", small(), open_journal(*address)) as loop:
        for n in range(20):
            entry = ranked(loop, f"r{n}", rng)
            loop.append(entry, click(f"e{n}", entry))
            if n < 18:
                loop.append(Closed(entry.id))
            loop.settle()
    return address, loop._engine.digest()


def test_stats_verify_and_export(lived):
    address, digest = lived
    with open_journal(*address) as journal:
        stats = do.stats(journal)
        assert (stats.kinds["ranking"], stats.kinds["event"], stats.kinds["closed"]) == (20, 20, 18)
        assert stats.entries == journal.head()
        found = do.verify(journal, rankings=3)
        assert (found.faults, found.digest, found.rankings_recomputed) == ([], digest, 3)
        data = do.export_queries(journal)
        assert len(data) == 18
        assert data.feature_names == ("1", "2", "3")
        assert rl.make_ranker("ranksvm").fit(data).score(data) > 0.95


def test_a_journal_becomes_a_click_log(address, rng):
    with Loop("loop", small(feedback={"click": 1.0, "hide": -1.0}), open_journal(*address)) as loop:
        shown = [ranked(loop, f"r{n}", rng, k=3) for n in range(4)]
        liked = {entry.id: entry.items[entry.order[1]] for entry in shown[:2]}
        for entry in shown:
            loop.append(entry)
        for number, (name, item) in enumerate(liked.items()):
            loop.append(Observed(f"e{number}", name, item))
        loop.append(Observed("h", "r2", shown[2].items[shown[2].order[0]], "hide"))
        loop.append(*(Closed(entry.id) for entry in shown[:3]))  # the last one stays open
    with open_journal(*address) as journal:
        log = do.export_clicks(journal)
        model = replay(journal).models["solar-i"].ranker
        scores = do.score_as_shown(journal, model)
    expected = [
        (entry.id, place + 1, entry.items[row], entry.items[row] == liked.get(entry.id))
        for entry in shown[:3]
        for place, row in enumerate(entry.order)
    ]
    pages = np.repeat(log.page_ids, log.sizes).tolist()
    items = log.document_ids[log.documents].tolist()
    found = zip(pages, log.positions.tolist(), items, log.clicks.tolist(), strict=True)
    assert list(found) == expected
    assert "the query of 3 of 3 pages is not known" in log.notes[0]
    best = [model.predict(entry.matrix(), group=[5])[entry.order] for entry in shown[:3]]
    assert np.array_equal(scores, np.concatenate(best))


def test_a_journal_that_grows_meanwhile_is_verified_too(lived, monkeypatch):
    address, digest = lived
    with open_journal(*address) as journal, open_journal(*address) as service:

        def replay_slowly(of):
            engine = replay(of)
            service.append([make_row(Closed("r18"), 0)])
            return engine

        monkeypatch.setitem(do.verify.__globals__, "replay", replay_slowly)
        found = do.verify(journal, rankings=0)
        assert (found.faults, found.digest) == ([], digest)
        assert found.entries == journal.head() - 1


def test_compaction_keeps_the_state_the_open_rankings_and_the_keys(lived, tmp_path, rng):
    address, digest = lived
    archive = tmp_path / "old.parquet"
    with open_journal(*address) as journal:
        first_open = min(o.position for o in load_engine(journal).joins.open.values())
        assert do.compact(journal, archive) == journal.base() == first_open - 1
        with pytest.raises(ValueError, match="nothing to compact"):
            do.compact(journal, tmp_path / "again.parquet")
        with pytest.raises(JournalError, match="entry 1 was compacted"):
            journal.read(0)
        engine = load_engine(journal)  # the compaction is an entry, too
        before, digest = digest, engine.digest()
        assert replay(journal).digest() == digest != before
    assert parquet.read_table(archive).num_rows == first_open - 1
    with Loop("loop", small(), open_journal(*address)) as loop:
        assert loop.inspect(Engine.digest) == digest
        assert loop.append(Closed("r3"))[0].status == "duplicate"
        loop.append(Closed("r18"), Closed("r19"))
        loop.settle()
        assert loop.published.totals.examples == 20


def test_judged_data_starts_a_loop_warm(address, rng):
    data = rl.QueryDataset.from_arrays(
        rng.normal(size=(60, 3)), rng.integers(0, 3, 60), qid=np.repeat(range(12), 5)
    )
    with open_journal(*address) as journal:
        do.configure(journal, small(rankers=("solar-i",)))
        assert do.import_judged(journal, data) == 12
        head = journal.head()
        assert do.import_judged(journal, data) == 12
        assert journal.head() == head
        engine = replay(journal)
        learnt = engine.models["solar-i"].ranker
        assert engine.models["solar-i"].curve.n == engine.totals.examples > 5
        assert engine.shown.n == 0  # nobody saw any of it
    assert np.array_equal(learnt.predict(data), rl.SolarI().partial_fit(data).predict(data))


def test_logs_are_learnt(address, rng):
    lines = []
    for n in range(10):
        X = rng.normal(size=(4, 3))
        items = [{"id": f"d{i}", "features": row} for i, row in enumerate(X.tolist())]
        lines.append({"ranking_id": f"r{n}", "items": items})
        best = f"d{X[:, 0].argmax()}"
        lines.append({"event_id": f"e{n}", "ranking_id": f"r{n}", "item": best})
    text = [json.dumps(line).encode() for line in lines]
    with open_journal(*address) as journal:
        do.configure(journal, small())
        assert do.import_logs(journal, text) == {"rankings": 10, "events": 10, "closed": 10}
        assert replay(journal).totals.examples == 10
        with pytest.raises(ValueError, match=r"line 2: .*item"):
            do.import_logs(journal, [*text[:1], b'{"ranking_id": "x"}'])


def rankloop(*words, fails=False):
    done = CliRunner().invoke(app, words)
    assert (done.exit_code != 0) == fails, done.output
    return done.output


def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rankloop("serve", "a.toml", "--init", "--features", "price,match", "-r", "solar-i")
    assert "the settings are valid: loop" in rankloop("serve", "a.toml", "--check")
    token, digest = (line.split()[1] for line in rankloop("serve", "--new-token").splitlines())
    assert hashlib.sha256(token.encode()).hexdigest() == digest
    logs = tmp_path / "logs.jsonl"
    items = [{"id": "a", "features": [1, 0]}, {"id": "b", "features": [0, 1]}]
    click = {"event_id": "e", "ranking_id": "r", "item": "b"}
    logs.write_text(f"{json.dumps({'ranking_id': 'r', 'items': items})}\n{json.dumps(click)}\n")
    shown = rankloop("journal", "import", "loop.journal", "logs.jsonl", "--config", "a.toml")
    assert "1 rankings, 1 events, 1 closed" in shown
    assert "all is well: 4 entries" in rankloop("journal", "verify", "loop.journal")
    shown = rankloop("journal", "clicks", "loop.journal", "log.csv")
    assert "log.csv: ClickLog(1 page, 1 query, 2 shown documents, 1 click)" in shown
    assert '"r","r","b",2,1' in (tmp_path / "log.csv").read_text()
    state = json.loads(rankloop("journal", "replay", "loop.journal", "--json"))
    assert state["totals"]["examples"] == 1
    assert "no such journal" in rankloop("journal", "stats", "none", fails=True)
    assert "give a settings file, the features, or a model" in rankloop("serve", fails=True)


GOODS = """qid,grade,sku,price,match,note
1,2,a,3,0.5,x
1,0,b,,0.1,y
2,1,c,5,0.9,x
2,0,d,6,0.2,z
"""


@pytest.fixture
def goods(tmp_path, monkeypatch):
    """A folder with judged data of a shop, some prices unknown, and settings for it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "goods.csv").write_text(GOODS)
    rankloop("serve", "a.toml", "--init", "--features", "price,match", "-r", "solar-i")
    return tmp_path


def import_goods(*more, fails=False):
    words = ("journal", "import", "loop.journal", "goods.csv", "--drop", "sku", *more)
    return rankloop(*words, fails=fails)


def test_an_import_that_fails_leaves_nothing_behind(goods):
    settings = goods / "a.toml"
    assert "'price' is missing in 1 rows" in import_goods("--config", "a.toml", fails=True)
    for features, said in (
        ("price,size", "no column for the feature 'size'"),
        ("match,note", "'note' is text"),
    ):
        rankloop("serve", "b.toml", "--init", "--features", features)
        assert said in import_goods("--config", "b.toml", fails=True)
        (goods / "b.toml").unlink()
    (goods / "bad.jsonl").write_text('{"ranking_id": "r"}\n')
    for place, said in (
        ("none.csv", "none.csv"),
        ("none.jsonl", "none.jsonl: cannot be read"),
        ("bad.jsonl", "bad.jsonl: line 1"),
    ):
        words = ("journal", "import", "loop.journal", place, "--config", "a.toml")
        assert said in rankloop(*words, fails=True)
    assert "to start one, give a settings file" in import_goods(fails=True)
    assert {path.name for path in goods.iterdir()} == {"a.toml", "goods.csv", "bad.jsonl"}

    settings.write_text(settings.read_text().replace("window", "defaults = { price = 4 }\nwindow"))
    assert "2 judged queries" in import_goods("--config", "a.toml")


def test_an_import_into_a_journal_that_the_settings_do_not_name_says_so(goods):
    (goods / "goods.csv").write_text(GOODS.replace(",,", ",4,"))
    assert "another journal" not in import_goods("--config", "a.toml")
    words = ("journal", "import", "other.db", "goods.csv", "--drop", "sku", "--config", "a.toml")
    assert "a.toml: a service with these settings has another journal" in rankloop(*words)


def test_an_import_takes_changed_settings_over(goods):
    settings = goods / "a.toml"
    (goods / "goods.csv").write_text(GOODS.replace(",,", ",4,"))
    import_goods("--config", "a.toml")
    import_goods("--config", "a.toml")
    settings.write_text(settings.read_text().replace("window = 1800", "window = 60"))
    import_goods("--config", "a.toml")
    with open_journal("loop.journal", "loop") as journal:
        assert do.stats(journal).kinds["configured"] == 2
        assert replay(journal).settings.window == 60
        head = journal.head()
    settings.write_text(settings.read_text().replace('"match"', '"note"'))
    (goods / "goods.csv").write_text(GOODS.replace("match,note", "note,match").replace(",,", ",4,"))
    assert "features that callers send cannot be changed" in import_goods(
        "--drop", "match", "--config", "a.toml", fails=True
    )
    with open_journal("loop.journal", "loop") as journal:
        assert journal.head() == head


def test_an_import_chooses_columns(goods):
    (goods / "goods.csv").write_text(
        GOODS.replace(",,", ",4,").replace("qid,grade", "search,bought")
    )
    columns = ("--query", "search", "--label", "bought")
    assert "2 judged queries" in import_goods(*columns, "--config", "a.toml")


def test_an_import_has_a_date(goods):
    (goods / "goods.csv").write_text(GOODS.replace(",,", ",4,"))
    import_goods("--config", "a.toml")
    (act,) = json.loads(rankloop("journal", "actions", "loop.journal", "--json"))
    assert datetime.now(UTC) - datetime.fromisoformat(act["at"]) < timedelta(hours=1)
