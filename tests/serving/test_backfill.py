"""A ranker whose features were defined today learns as if they had always been there."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from rankloop.cli.app import app
from rankloop.exceptions import DataError
from rankloop.features.request import Request
from rankloop.serving import operations as do
from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.journal.base import JournalError, make_row
from rankloop.serving.journal.feature_entries import Computed, Counted
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Judged, Observed, Ranked, pack_features
from rankloop.serving.loop import Loop
from rankloop.serving.operations import backfill as module
from rankloop.serving.operations.archives import Archives
from rankloop.serving.operations.backfill import backfill
from rankloop.serving.operations.importing import import_files
from rankloop.serving.operations.past_features import PastFeatures
from rankloop.serving.operations.recompute import recompute
from rankloop.serving.settings.service import as_settings

from .shop import FEATURES, FIELDS, catalogue, shop_settings
from .test_history import make_log, write

FEW = {name: FEATURES[name] for name in ("price", "bm25")}
ALL = {name: FEATURES[name] for name in (*FEW, "brand", "ctr", "sold", "brand_user")}


def imported(tmp_path, name, features, archives=()):
    """A journal with a log, in which every ranking has a click; it comes in three parts.

    archives : to compact the first parts into
    """
    place = tmp_path / name
    log = []
    lines = make_log(np.random.default_rng(5), 120)
    known = {None, *(line["ranking_id"] for line in lines if "items" in line)}
    for line in lines:
        if line.get("ranking_id") not in known:  # it would wait for its ranking for ever
            continue
        log.append(line)
        if "items" in line and len(log) % 3:
            click = {"ranking_id": line["ranking_id"], "item": line["items"][1]}
            log.append({**click, "timestamp": line["timestamp"] + 1})
    paths = [write(tmp_path / "items.jsonl", [{**i, "timestamp": 1} for i in catalogue()])]
    for k in range(3):
        part = log[k * len(log) // 3 : (k + 1) * len(log) // 3]
        own = {None, *(line["ranking_id"] for line in part if "items" in line)}
        part = [line for line in part if line.get("ranking_id") in own]
        paths.append(write(tmp_path / f"log{k}.jsonl", part))
    with open_journal(str(place), "shop") as journal:
        do.configure(journal, settings(features))
    for part, archive in zip(
        [paths[:2], paths[2:3], paths[3:]], [*archives, None, None, None], strict=False
    ):
        list(import_files(str(place), "shop", list(map(str, part)), None))
        if archive is not None:
            with open_journal(str(place), "shop") as journal:
                do.compact(journal, archive)
    return str(place)


def settings(features):
    loop = shop_settings(features=features)
    return as_settings({"loops": {"shop": loop}}).loops["shop"]


def models(address):
    with open_journal(address, "shop") as journal:
        engine = load_engine(journal)
        engine.learn()
        return engine.models


@pytest.fixture
def changed(tmp_path):
    """A journal whose features were changed after it was filled."""
    address = imported(tmp_path, "changed.journal", FEW)
    with open_journal(address, "shop") as journal:
        do.configure(journal, settings(ALL))
        yield journal, address


def test_it_learns_what_it_had_learnt_with_these_features_from_the_start(tmp_path, changed):
    journal, address = changed
    shares = []
    made = backfill(journal, progress=shares.append)
    expected = models(imported(tmp_path, "always.journal", ALL))["newton"]
    added = models(address)[made.name]
    assert made.name == "newton.past"
    assert added.ranker.digest() == expected.ranker.digest()
    assert (made.rankings, made.quality) == (expected.curve.n, expected.curve.mean)
    assert made.rankings > 20
    assert (shares[-1], shares) == (1, sorted(shares))
    assert models(address)["newton.2"].ranker.n_queries_seen_ == 0  # that of the settings is new
    assert do.verify(journal).faults == []
    assert backfill(journal).name == "newton.past.2"


def test_an_export_has_the_present_columns_and_the_names_of_categories(changed):
    journal, address = changed
    (item,) = journal.find_kind("change")[0].entry.items[:1]
    assert item[1]["brand"] == "acme"
    ranking = {"id": "late", "items": ["i1", "i2"]}
    with Loop("shop", settings(ALL), open_journal(address, "shop")) as loop:
        X = loop.live.compute(ranking["items"], Request(), loop.now(), None)
        features, _ = pack_features(X.X)
        computed = Computed(loop.now(), X.after, X.columns, b"")
        scores = np.zeros(2).tobytes()
        shown = Ranked("late", ranking["items"], len(ALL), features, [0, 1], scores)
        loop.append(
            msgspec.structs.replace(shown, computed=computed),
            Observed("late", "late", "i2"),
            Closed("late"),
        )
    data = do.export_queries(journal)
    assert data.feature_names == tuple(ALL)
    brand = data.features.columns[list(ALL).index("brand")]
    assert brand.categories[:3] == ("acme", "best", "cosy")
    column = data.X[:, list(ALL).index("brand")]
    assert np.isnan(column[:-2]).all()  # from before the feature was defined
    assert [brand.categories[int(code)] for code in column[-2:]] == ["best", "cosy"]


def test_an_interrupted_backfill_goes_on(tmp_path, changed, monkeypatch):
    journal, address = changed
    monkeypatch.setattr(module, "_SAVE_EVERY", 7)
    checkpoint = tmp_path / "half"

    def stop(share):
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(journal, name="half", checkpoint=checkpoint, progress=stop)
    assert checkpoint.exists()
    made = backfill(journal, name="half", checkpoint=checkpoint)
    whole = backfill(journal, name="whole")
    assert made.resumed > 0
    assert not checkpoint.exists()
    assert (made.rankings, made.quality) == (whole.rankings, whole.quality)
    found = models(address)
    assert found["half"].ranker.digest() == found["whole"].ranker.digest()


def test_judgements_are_learnt_too_and_faults_are_named(tmp_path, changed):
    journal, address = changed
    ranking = next(r for r in journal.scan() if getattr(r.entry, "computed", None))
    grades = {item: float(n) for n, item in enumerate(ranking.entry.items)}
    before = backfill(journal, name="before").rankings
    judged = Judged("j", ranking.entry.id, ranking.position, grades)
    journal.append([make_row(judged, 0)])
    assert backfill(journal, name="judged").rankings == before + 1
    with pytest.raises(DataError, match="no ranker 'slam'"):
        backfill(journal, "slam")
    with pytest.raises(DataError, match="already"):
        backfill(journal, name="judged")
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"x")
    with pytest.raises(DataError, match="cannot be read"):
        backfill(journal, checkpoint=damaged)
    shown = CliRunner().invoke(app, ["journal", "backfill", address, "--name", "cli"])
    assert shown.exit_code == 0, shown.output
    assert f"cli: learnt from {before + 1} rankings" in shown.output


def test_features_of_a_compacted_journal_are_computed_from_its_archives(tmp_path):
    address = imported(tmp_path, "changed.journal", FEW)
    archives = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    more = [Counted(f"c{k}", f"i{k % 5}", "purchase") for k in range(30)]
    with open_journal(address, "shop") as journal:
        do.compact(journal, archives[0])
        journal.append([make_row(entry, 1_750_000_000_000) for entry in more[:20]])
        do.compact(journal, archives[1])
        journal.append([make_row(entry, 1_750_000_000_000) for entry in more[20:]])
        base = journal.base()
        with pytest.raises(DataError, match="journal recompute"):
            Loop("shop", settings(ALL), open_journal(address, "shop"))
        for wrong in (archives[:1], archives[1:]):
            with pytest.raises(DataError, match="give all archives"):
                recompute(journal, settings(ALL), wrong)
    config = tmp_path / "shop.toml"
    fields = "\n".join(f"{side} = {toml(known)}" for side, known in FIELDS.items())
    features = "\n".join(f"{name} = {toml(options)}" for name, options in ALL.items())
    config.write_text(f"[loops.shop.fields]\n{fields}\n[loops.shop.features]\n{features}\n")
    words = ["journal", "recompute", address, *map(str, archives), "-c", str(config)]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    always = imported(tmp_path, "always.journal", ALL)
    with open_journal(always, "shop") as journal:
        journal.append([make_row(entry, 1_750_000_000_000) for entry in more])
    states, items = [], [f"i{k}" for k in range(14)]
    for place in (address, always):
        with Loop("shop", settings(ALL), open_journal(place, "shop")) as loop:
            request = Request(user=loop.hashes.user("u1"))
            found = loop.live.compute(items, request, 1_800_000_000_000, None)
            states.append((found.X, loop.live.statistics()["counters"]))
    (one, counted), (two, expected) = states
    assert base > 40
    assert counted == expected
    assert one.tobytes() == two.tobytes()


def past_rankings(journal, archives=None):
    return [
        (past.ranked.id, past.X.tobytes(), [event.id for event in past.events])
        for past in PastFeatures(journal, archives=archives)
    ]


def test_a_compacted_journal_is_learnt_from_with_its_archives(tmp_path):
    with open_journal(imported(tmp_path, "whole.journal", FEW), "shop") as journal:
        do.configure(journal, settings(ALL))
        expected, whole = past_rankings(journal), backfill(journal)
    archives = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    address = imported(tmp_path, "compacted.journal", FEW, archives)
    with open_journal(address, "shop") as journal:
        assert 1 < journal.base() < journal.head() - 20
        recompute(journal, settings(ALL), archives)
        with pytest.raises(JournalError, match="give the archives"):
            backfill(journal)
        with Archives(archives[:1]) as half, pytest.raises(DataError, match="give all archives"):
            backfill(journal, archives=half)
        with Archives(archives) as known:
            assert past_rankings(journal, known) == expected
    words = ["journal", "backfill", address]
    words += [word for path in archives for word in ("--archive", str(path))]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert f"learnt from {whole.rankings} rankings\n" in shown.output
    assert len(expected) > 20


def toml(options):
    parts = (f"{json.dumps(name)} = {json.dumps(value)}" for name, value in options.items())
    return "{ " + ", ".join(parts) + " }"
