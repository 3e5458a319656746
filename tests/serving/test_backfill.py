"""A ranker whose features were defined today learns as if they had always been there."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from rankloop.cli.app import app
from rankloop.exceptions import DataError
from rankloop.serving import operations as do
from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.entries import Judged
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.operations import backfill as module
from rankloop.serving.operations.backfill import backfill
from rankloop.serving.operations.importing import import_files
from rankloop.serving.settings.service import as_settings

from .shop import FEATURES, catalogue, shop_settings
from .test_history import make_log, write

FEW = {name: FEATURES[name] for name in ("price", "bm25")}
ALL = {name: FEATURES[name] for name in (*FEW, "brand", "ctr", "sold", "brand_user")}


def imported(tmp_path, name, features):
    """A journal with a log, in which every ranking has a click."""
    place = tmp_path / name
    log = []
    for line in make_log(np.random.default_rng(5), 120):
        log.append(line)
        if "items" in line and len(log) % 3:
            click = {"ranking_id": line["ranking_id"], "item": line["items"][1]}
            log.append({**click, "timestamp": line["timestamp"] + 1})
    paths = [write(tmp_path / "items.jsonl", [{**i, "timestamp": 1} for i in catalogue()])]
    paths.append(write(tmp_path / "log.jsonl", log))
    with open_journal(str(place), "shop") as journal:
        do.configure(journal, settings(features))
    list(import_files(str(place), "shop", list(map(str, paths)), None))
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
