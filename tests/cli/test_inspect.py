import pytest

import rankloop as rl

KEYS = {
    "queries",
    "documents",
    "features",
    "list_lengths",
    "length_counts",
    "single_document_queries",
    "empty_queries",
    "grades",
    "unjudged",
    "no_relevant",
    "one_grade",
    "feature_summaries",
    "constant_features",
    "duplicate_features",
    "query_level_features",
    "wide_features",
    "sentinel_features",
    "duplicate_documents",
    "repeated_ids",
    "memory",
    "notes",
}


def test_shows_sizes_and_grades(ok, jumbled):
    cells = ok("inspect", jumbled).cells
    assert ["queries", "2"] in cells
    assert ["documents", "5"] in cells
    assert ["features", "2"] in cells
    assert ["0", "2", "40.0%"] in cells
    assert ["2", "1", "20.0%"] in cells


def test_json_has_everything_the_library_finds(ok, jumbled):
    found = ok("inspect", jumbled, "--json").json
    assert found.keys() == KEYS
    assert found == rl.summarise(rl.read_letor(jumbled)).to_dict()
    assert found["list_lengths"] == [2, 2.25, 2.5, 2.75, 3]
    assert found["grades"] == {"low": [0, 1, 2], "high": [0, 1, 2], "counts": [2, 2, 1]}
    assert found["feature_summaries"][1] == {
        "name": "column 1",
        "minimum": 0.0,
        "maximum": 4.0,
        "mean": 2.0,
        "zeros": 0.2,
        "missing": 0,
    }


def test_features_are_listed_when_asked_for(ok, jumbled):
    row = ["column", "1", "0", "4", "2", "20%", "0"]
    assert row not in ok("inspect", jumbled).cells
    assert row in ok("inspect", jumbled, "--list").cells


def test_says_what_looks_wrong(ok, tmp_path):
    path = tmp_path / "odd.txt"
    path.write_text("0 qid:1 1:5 2:1\n0 qid:1 1:5 2:2\n1 qid:2 1:5 2:3\n0 qid:2 1:5 2:4\n")
    notes = [line for line in ok("inspect", path).out.splitlines() if line.startswith("- ")]
    assert len(notes) == 3
    assert notes[0].startswith("- 1 of 2 queries has no relevant document")
    assert notes[-1] == "- 1 feature is constant (column 0): drop it"


def test_null_is_zero_unless_said_otherwise(ok, tmp_path):
    path = tmp_path / "null.txt"
    path.write_text("0 qid:1 1:NULL\n1 qid:1 1:2\n")

    def feature(*options):
        return ok("inspect", path, "--json", *options).json["feature_summaries"][0]

    assert (feature()["minimum"], feature()["missing"]) == (0.0, 0)
    assert feature("--null", "-3")["minimum"] == -3.0
    assert (feature("--null", "nan")["minimum"], feature("--null", "nan")["missing"]) == (2.0, 1)


def test_plot_writes_a_picture(ok, jumbled, tmp_path):
    picture = tmp_path / "picture.png"
    ok("inspect", jumbled, "--plot", picture)
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert picture.stat().st_size > 10_000


def test_several_files_and_standard_input(ok, jumbled, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("1 qid:8 1:1\n")
    assert ok("inspect", jumbled, other, "--json").json["queries"] == 3
    assert ok("inspect", "-", "--json", stdin=other.read_bytes()).json["queries"] == 1


@pytest.mark.parametrize(
    ("name", "queries", "documents", "features"),
    [
        ("MQ2008", 784, 15_211, 46),
        ("OHSUMED", 106, 16_140, 45),
        ("OHSUMED-null", 22, 3_383, 45),
        ("MSLR-sample", 90, 9_189, 136),
        ("LightGBM-lambdarank", 251, 3_773, 300),
        ("YandexIMat2009-sample", 104, 1_000, 245),
    ],
)
def test_real_data(ok, data_dir, name, queries, documents, features):
    folder = data_dir / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not among the real data")
    found = ok("inspect", folder, "--json").json
    assert (found["queries"], found["documents"]) == (queries, documents)
    assert found["features"] == features
