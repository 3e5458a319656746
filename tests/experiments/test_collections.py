"""Collections as they are published: found, read, and never taken for more than they are."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.data.folds import letor_folds
from rankloop.exceptions import DataError
from rankloop.experiments.papers import EXPERIMENTS
from rankloop.experiments.papers.collections import COLLECTIONS
from rankloop.experiments.papers.datasets import find, stand_in
from rankloop.experiments.papers.declaration import (
    Claim,
    Estimate,
    Experiment,
    ExperimentPart,
    PartResult,
    PublishedScore,
    Setting,
)
from rankloop.experiments.papers.runner import run
from rankloop.rankers.online.linear import LinearRanker

from .published import n_queries, queries, write, write_all, write_folds

WITH_DATA = [e for e in EXPERIMENTS.values() if any(part.data for part in e.parts)]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    root = tmp_path_factory.mktemp("published")
    write_all(root)
    return root


@pytest.mark.parametrize("name", COLLECTIONS)
def test_every_collection_is_found_as_published(name, published):
    source = find(name, [str(published)])
    sizes = {"Yahoo": 60, "Yahoo-train": 36, "MSLR-WEB10K": 60, "MSLR-WEB30K": 60}
    assert len(source.data) == sizes.get(name, 20)
    assert len(np.unique(source.data.query_ids)) == len(source.data)


def test_set_2_of_yahoo_is_another_collection(published):
    whole, train = (find(name, [str(published)]).data for name in ("Yahoo", "Yahoo-train"))
    assert max(whole.query_ids) < 100
    assert sorted(train.query_ids) == list(range(1, 37))


@pytest.mark.slow
@pytest.mark.parametrize("name", [experiment.id for experiment in WITH_DATA])
def test_every_experiment_reads_them(name, published, monkeypatch):
    """A quick run has every value whose name was published, and no ranker shortens its steps."""
    monkeypatch.delenv("RANKLOOP_DATA", raising=False)
    learn = LinearRanker._learn_queries

    def whole_steps(self, *args):
        assert not getattr(self, "clip", 0), self
        return learn(self, *args)

    monkeypatch.setattr(LinearRanker, "_learn_queries", whole_steps)
    experiment = EXPERIMENTS[name]
    parts = {part.data: part for part in experiment.parts}  # one for each collection
    few = Experiment(name, "", "", "", tuple(parts.values()))
    for comparison in run(few, Setting(quick=True), [str(published)]).comparisons:
        assert comparison.ours is not None, comparison
        assert str(comparison.verdict) == "not judged"


def experiment(data):
    def measure(source, setting):
        return PartResult({"a": Estimate(0.5), "b": Estimate(0.5)})

    expected = {"a": PublishedScore(0.5, 0.01), "b": Claim(above=0)}
    return Experiment("it", "", "", "", (ExperimentPart("p", measure, expected, data),))


def verdicts(data, root):
    return [str(c.verdict) for c in run(experiment(data), Setting(), [str(root)]).comparisons]


@pytest.mark.parametrize("name", ["MSLR-WEB30K", "MQ2007", "TD2003", "Yahoo", "Yandex"])
def test_a_folder_of_another_size_is_a_sample(name, published):
    assert find(name, [str(published)]).kind == "sample"
    assert verdicts(name, published) == ["not judged", "OK"]
    folder = find(name, [str(published)]).folder
    assert find(name, [f"{COLLECTIONS[name].key or name}={folder}"]).kind == "sample"


def test_a_collection_is_not_judged_on_another_one(tmp_path):
    write_folds(tmp_path / "MSLR-WEB10K", 136)
    assert find("MSLR-WEB30K", [str(tmp_path)]).folder.name == "MSLR-WEB10K"
    assert verdicts("MSLR-WEB30K", tmp_path) == ["not judged", "OK"]
    write_folds(tmp_path / "MSLR-WEB30K", 136)
    assert find("MSLR-WEB30K", [str(tmp_path)]).folder.name == "MSLR-WEB30K"
    assert find("MSLR-WEB10K", [str(tmp_path)]).folder.name == "MSLR-WEB10K"


def test_a_declared_part_is_judged_and_named(data_dir):
    source = find("MQ2007", [str(data_dir)])
    assert source.kind == "partial"
    comparisons = run(experiment("MQ2007"), Setting(), [str(data_dir)]).comparisons
    assert [str(c.verdict) for c in comparisons] == ["OK", "OK"]
    assert "88.5% of the documents" in comparisons[0].data


def test_a_folder_named_like_a_declared_part_must_have_its_size(tmp_path):
    write_folds(tmp_path / "MQ2007-partial", 46)
    assert find("MQ2007", [str(tmp_path)]).kind == "sample"


def test_what_was_not_available_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKLOOP_DATA", raising=False)
    for name in COLLECTIONS:
        (one, _) = run(experiment(name), Setting(), [str(tmp_path)]).comparisons
        assert str(one.verdict) == "not run"
        assert "://" in one.why
        assert one.why.endswith("then `rankloop reproduce it --data DIR`")


def test_istella_has_a_folder_inside_and_may_lack_a_validation_part(tmp_path):
    for k, role in enumerate(("train", "test")):
        write(queries(1 + 50 * k, 10, 5), tmp_path / "istella-letor" / "full" / f"{role}.txt")
    train, vali, test = letor_folds(tmp_path / "istella-letor")[0].read()
    assert [len(part) for part in (train, vali, test)] == [8, 2, 10]
    assert sorted([*train.query_ids, *vali.query_ids]) == list(range(1, 11))
    for k, role in enumerate(("train", "vali", "test")):
        write(queries(1 + 50 * k, 10, 5), tmp_path / "istella-s-letor" / "sample" / f"{role}.txt")
    assert n_queries(tmp_path / "istella-s-letor") == 30
    write(queries(1, 10, 5), tmp_path / "mine" / "train.txt")
    write(queries(20, 10, 5), tmp_path / "mine" / "test.txt")
    with pytest.raises(DataError, match="no vali file"):
        letor_folds(tmp_path / "mine")


def test_a_line_of_yandex_must_name_its_query(tmp_path):
    (tmp_path / "Yandex").mkdir()
    (tmp_path / "Yandex" / "imat2009_learning.txt").write_text("1 1:0.5 # 3\n0 1:0.25\n")
    with pytest.raises(DataError, match=r"imat2009_learning.txt:2: a line must end with its query"):
        _ = find("Yandex", [str(tmp_path)]).data


def test_names_are_known_ones(tmp_path):
    with pytest.raises(DataError, match="there is no folder /nowhere for Yahoo"):
        find("Yahoo-train", ["Yahoo=/nowhere"])
    with pytest.raises(DataError, match="unknown data set 'XYZ'"):
        find("XYZ")
    assert stand_in("TD2003", 5, 0) is None


def test_data_that_takes_the_place_of_yahoo_has_its_grades():
    data = stand_in("Yahoo", 400, 0).data
    shares = np.bincount(data.y.astype(int)) / data.n_documents
    assert shares == pytest.approx([0.26, 0.36, 0.28, 0.08, 0.02], abs=0.02)


def test_collections_beside_each_other(published, tmp_path, monkeypatch):
    monkeypatch.delenv("RANKLOOP_DATA", raising=False)
    assert len(find("MQ2007", [str(published)]).beside("MQ2008").data) == 20
    given = [f"MQ2007={published / 'MQ2007'}", f"MQ2008={published / 'OHSUMED'}"]
    assert find("MQ2007", given).beside("MQ2008").folder.name == "OHSUMED"
    write_folds(tmp_path / "MQ2007", 46)
    with pytest.raises(DataError, match="MQ2008 was not available: unpack"):
        find("MQ2007", [str(tmp_path)]).beside("MQ2008")


def test_the_whole_collections_count_as_real(data_dir):
    for name in ("OHSUMED", "MQ2008"):
        assert find(name, [str(data_dir)]).kind == "real"
