from __future__ import annotations

import gzip
import lzma

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from rankloop.data.dataset import QueryDataset
from rankloop.data.folds import Fold, letor_folds
from rankloop.data.splits import QueryKFold, k_folds, random_split
from rankloop.exceptions import DataError


def make(sizes):
    """Feature 0 is the query, feature 1 the row."""
    n = sum(sizes)
    X = np.c_[np.repeat(np.arange(len(sizes)), sizes), np.arange(n)].reshape(n, 2)
    return QueryDataset.from_arrays(X, np.zeros(n), group=sizes)


some_sizes = st.lists(st.integers(0, 5), min_size=3, max_size=40)


@given(sizes=some_sizes, seed=st.integers(0, 99), cut=st.floats(0.01, 0.98))
def test_random_split_gives_every_query_to_exactly_one_part(sizes, seed, cut):
    fractions = (cut, (1 - cut) / 3, 2 * (1 - cut) / 3)
    data = make(sizes)
    parts = random_split(data, fractions, rng=np.random.default_rng(seed))
    assert sorted(np.concatenate([p.query_ids for p in parts])) == list(range(len(sizes)))
    assert sorted(np.concatenate([p.X[:, 1] for p in parts])) == list(range(sum(sizes)))
    for part, fraction in zip(parts, fractions, strict=True):
        assert len(part) >= 1
        assert abs(len(part) - fraction * len(sizes)) <= 2
        assert (part.X[:, 0] == part.qid).all()
        assert (np.diff(part.query_ids) > 0).all()


def test_random_split_is_random_and_repeats_with_its_seed():
    data = make([1] * 100)
    first, again, other = (
        random_split(data, rng=np.random.default_rng(seed))[0].query_ids for seed in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()
    assert [len(p) for p in random_split(data, rng=np.random.default_rng(0))] == [60, 20, 20]


@pytest.mark.parametrize(
    "fractions", [(0.5, 0.6), (1.0,), (), (1.5, -0.5), (1.0, 0.0), (np.nan, 0.5), 1.0]
)
def test_random_split_checks_fractions(fractions):
    with pytest.raises(DataError, match="add up to 1"):
        random_split(make([1] * 10), fractions, rng=np.random.default_rng(0))


def test_too_few_queries():
    with pytest.raises(DataError, match="2 queries cannot be split into 3 parts"):
        random_split(make([5, 5]), rng=np.random.default_rng(0))
    for k in (1, 3, 0, 2.0):
        with pytest.raises(DataError, match="from 2 to the number of queries, 2; found"):
            k_folds(make([5, 5]), k, np.random.default_rng(0))
    with pytest.raises(DataError, match="from 2 to"):
        next(QueryKFold(3).split(np.zeros(4), groups=[1, 1, 2, 2]))


def test_randomness_is_a_generator():
    with pytest.raises(DataError, match="default_rng"):
        random_split(make([1] * 5), rng=0)
    with pytest.raises(DataError, match="default_rng"):
        k_folds(make([1] * 5), 2, rng=None)


@given(sizes=some_sizes, k=st.integers(2, 3), seed=st.integers(0, 99))
def test_k_folds_tests_every_query_once(sizes, k, seed):
    data = make(sizes)
    tested = []
    for train, test in k_folds(data, k, np.random.default_rng(seed)):
        assert sorted([*train.query_ids, *test.query_ids]) == list(range(len(sizes)))
        assert len(sizes) // k <= len(test) <= -(-len(sizes) // k)
        assert (train.X[:, 0] == train.qid).all()
        tested.extend(test.query_ids)
    assert sorted(tested) == list(range(len(sizes)))


@given(
    groups=st.lists(st.sampled_from("abcdefg"), min_size=3, max_size=30).filter(
        lambda g: len(set(g)) >= 3
    ),
    k=st.integers(2, 3),
    seed=st.none() | st.integers(0, 99),
)
def test_query_k_fold_never_separates_a_query(groups, k, seed):
    groups = np.array(groups)
    cv = QueryKFold(k, shuffle=seed is not None, random_state=seed)
    X = np.zeros((len(groups), 1))
    splits = list(cv.split(X, groups=groups))
    assert len(splits) == k == cv.get_n_splits()
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        assert sorted([*train, *test]) == list(range(len(groups)))
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(groups)))
    for one, other in zip(splits, cv.split(X, groups=groups), strict=True):
        np.testing.assert_array_equal(one[1], other[1])


def test_query_k_fold_shuffles_only_when_asked():
    X, groups = np.zeros(20), np.arange(20)
    plain = [test.tolist() for _, test in QueryKFold(4).split(X, groups=groups)]
    assert plain == np.arange(20).reshape(4, 5).tolist()
    shuffled = QueryKFold(4, shuffle=True, random_state=0)
    assert [test.tolist() for _, test in shuffled.split(X, groups=groups)] != plain
    own = QueryKFold(4, shuffle=True, random_state=np.random.default_rng(0))
    assert [t.tolist() for _, t in own.split(X, groups=groups)] != plain


def test_query_k_fold_says_what_is_wrong():
    X = np.zeros((4, 1))
    with pytest.raises(DataError, match="pass them as groups="):
        next(QueryKFold(2).split(X))
    with pytest.raises(DataError, match="3 values for 4 rows"):
        next(QueryKFold(2).split(X, groups=[1, 2, 3]))
    for cv in (QueryKFold(2, shuffle=True), QueryKFold(2, random_state=0)):
        with pytest.raises(DataError, match="go together"):
            next(cv.split(X, groups=[1, 2, 3, 4]))
    assert repr(QueryKFold(2)) == "QueryKFold(n_splits=2, shuffle=False, random_state=None)"


@pytest.fixture
def regression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    return X, X @ [1, 2, 3] + rng.standard_normal(60), rng.permutation(np.repeat(np.arange(12), 5))


CV = QueryKFold(3, shuffle=True, random_state=1)


def test_in_scikit_learn(regression):
    X, y, groups = regression
    scores = cross_val_score(Ridge(), X, y, groups=groups, cv=CV)
    by_hand = [
        Ridge().fit(X[train], y[train]).score(X[test], y[test])
        for train, test in CV.split(X, groups=groups)
    ]
    np.testing.assert_allclose(scores, by_hand)
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1e4]}, cv=CV).fit(X, y, groups=groups)
    assert search.best_params_ == {"alpha": 0.1}
    assert search.n_splits_ == 3
    with pytest.raises(DataError, match="groups"):
        cross_val_score(Ridge(), X, y, cv=CV)


def test_in_scikit_learn_with_metadata_routing(regression):
    X, y, groups = regression
    plain = cross_val_score(Ridge(), X, y, groups=groups, cv=CV)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = cross_val_score(Ridge(), X, y, params={"groups": groups}, cv=CV)
        search = GridSearchCV(Ridge(), {"alpha": [0.1, 1e4]}, cv=CV).fit(X, y, groups=groups)
    np.testing.assert_array_equal(plain, routed)
    assert search.best_params_ == {"alpha": 0.1}


def test_leaving_one_query_out_agrees_with_scikit_learn(regression):
    X, y, groups = regression
    ours = {tuple(test) for _, test in QueryKFold(12).split(X, y, groups)}
    theirs = {tuple(test) for _, test in GroupKFold(12).split(X, y, groups)}
    assert ours == theirs


def line(qid, feature=1):
    return f"1 qid:{qid} {feature}:0.5\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opener(path, "wt") as stream:
        stream.write(text)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_parts_are_cut_as_letor_does(tmp_path, suffix):
    for i in range(1, 6):
        write(tmp_path / f"S{i}.txt{suffix}", line(i) + line(i))
    folds = letor_folds(tmp_path)
    cut = [
        tuple("".join(p.name[1] for p in part) for part in (f.train, f.vali, f.test)) for f in folds
    ]
    assert cut == [
        ("123", "4", "5"),
        ("234", "5", "1"),
        ("345", "1", "2"),
        ("451", "2", "3"),
        ("512", "3", "4"),
    ]
    assert [f.name for f in folds] == ["Fold1", "Fold2", "Fold3", "Fold4", "Fold5"]
    train, vali, test = folds[3].read()
    assert train.query_ids.tolist() == [4, 5, 1]
    assert vali.query_ids.tolist() == [2]
    assert test.query_ids.tolist() == [3]


def test_folders_in_order_of_their_number(tmp_path):
    for i in range(1, 12):
        vali = "valid" if i == 2 else "vali"
        for part, name in enumerate(("train", vali, "test")):
            write(
                tmp_path / f"Fold{i}" / f"{name}.txt{'.gz' if i == 3 else ''}", line(10 * i + part)
            )
    write(tmp_path / "S1.txt", line(1))  # folders come first
    folds = letor_folds(str(tmp_path))
    assert [f.name for f in folds] == [f"Fold{i}" for i in range(1, 12)]
    assert [d.query_ids.tolist() for d in folds[10].read()] == [[110], [111], [112]]
    assert [d.query_ids.tolist() for d in folds[2].read()] == [[30], [31], [32]]
    assert letor_folds(tmp_path / "Fold2") == [folds[1]]
    assert folds[1].vali[0].name == "valid.txt"


def test_the_plain_file_is_taken_before_its_compressed_twin(tmp_path):
    for name in ("train.txt.xz", "train.txt", "vali.txt.gz", "test.txt"):
        write(tmp_path / name, line(1))
    (fold,) = letor_folds(tmp_path)
    assert (fold.train[0].name, fold.vali[0].name) == ("train.txt", "vali.txt.gz")


def test_parts_of_a_fold_have_the_same_width(tmp_path):
    for i, name in enumerate(("train", "vali", "test")):
        write(tmp_path / f"{name}.txt", line(i, feature=3 - i))
    parts = letor_folds(tmp_path)[0].read()
    assert [p.X.tolist() for p in parts] == [[[0, 0, 0.5]], [[0, 0.5, 0]], [[0.5, 0, 0]]]
    assert [p.n_features for p in letor_folds(tmp_path)[0].read(n_features=4)] == [4, 4, 4]


def test_a_fold_is_a_value_and_reads_nothing_early(tmp_path):
    fold = Fold("Fold1", (tmp_path / "a",), (tmp_path / "b",), (tmp_path / "c",))
    assert fold == Fold("Fold1", (tmp_path / "a",), (tmp_path / "b",), (tmp_path / "c",))
    with pytest.raises(DataError, match="cannot read"):
        fold.read()


def test_folders_without_folds(tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        letor_folds(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"looked for Fold1.*S1\.txt to S5\.txt.*found nothing"):
        letor_folds(tmp_path)
    write(tmp_path / "S2.txt", "")
    write(tmp_path / "notes.md", "")
    with pytest.raises(DataError, match=r"found S2\.txt, notes\.md"):
        letor_folds(tmp_path)


def test_incomplete_folds(tmp_path):
    write(tmp_path / "Fold1" / "train.txt", "")
    write(tmp_path / "Fold1" / "test.txt", "")
    with pytest.raises(DataError, match=r"no vali file: looked for vali\.txt or valid\.txt.*found"):
        letor_folds(tmp_path)
    (tmp_path / "Fold3").mkdir()
    with pytest.raises(DataError, match="has Fold3 but no Fold2"):
        letor_folds(tmp_path)


@pytest.mark.parametrize(("name", "queries"), [("MQ2008", 784), ("OHSUMED", 106)])
def test_real_folds(data_dir, name, queries):
    folds = letor_folds(data_dir / name)
    tested = []
    for fold in folds:
        train, vali, test = fold.read()
        ids = [set(part.query_ids.tolist()) for part in (train, vali, test)]
        assert sum(map(len, ids)) == len(set.union(*ids)) == queries
        tested.extend(test.query_ids)
    assert len(folds) == 5
    assert len(set(tested)) == len(tested) == queries


def test_a_folder_with_one_real_split(data_dir):
    (fold,) = letor_folds(data_dir / "MSLR-sample")
    assert [len(part) for part in fold.read()] == [54, 18, 18]
