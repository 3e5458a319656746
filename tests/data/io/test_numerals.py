"""Tables as offices and crawlers write them: stray texts, commas, encodings, arrays, archives."""

from __future__ import annotations

import bz2
import io
import json
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankloop as rl
from rankloop.data.io.formats import write_batches
from rankloop.data.io.tables.numerals import MISSING
from rankloop.exceptions import DataError, MissingValuesWarning, ParseError


def write_prices(folder, texts, name="a.csv", delimiter=","):
    path = folder / name
    rows = (f"{k // 10}{delimiter}{k % 3}{delimiter}{text}\n" for k, text in enumerate(texts))
    path.write_text(delimiter.join(["qid", "label", "price"]) + "\n" + "".join(rows))
    return path


def prices(n=200):
    return [f"{k % 9}.{k % 7}" for k in range(n)]


@pytest.mark.filterwarnings("ignore::rankloop.exceptions.MissingValuesWarning")
def test_a_mark_of_a_missing_value_leaves_a_column_of_numbers(tmp_path):
    for mark in MISSING:
        texts = prices()
        expected = np.array(texts, np.float32)
        texts[150], expected[150] = mark, np.nan
        data = rl.read(write_prices(tmp_path, texts))
        assert data.features is None
        np.testing.assert_array_equal(data.X[:, 0], expected, mark)


def test_the_note_names_the_column_and_the_marks(tmp_path):
    texts = prices()
    texts[3], texts[5], texts[7] = "?", "\\N", " - "
    with pytest.warns(MissingValuesWarning, match=r"'price' .* 3 values are missing \('\?', "):
        data = rl.read(write_prices(tmp_path, texts))
    assert np.isnan(data.X[:, 0]).sum() == 3


@pytest.mark.parametrize("stray", ["12.5 EUR", "many", "12..5", "0x1f", "1_000", "\u0661"])
def test_a_stray_text_is_an_error_with_its_row(stray, tmp_path):
    texts = prices()
    texts[150] = stray
    with pytest.raises(DataError) as error:
        rl.read(write_prices(tmp_path, texts))
    for word in ("'price'", "99.50%", f"row 150 has {stray!r}", "missing=", "category=['price']"):
        assert word in str(error.value)
    path = write_prices(tmp_path, texts)
    assert rl.read(path, category=["price"]).features.columns[0].kind == "category"
    data = rl.read(path, missing=[stray])
    assert data.features is None
    assert np.flatnonzero(np.isnan(data.X[:, 0])).tolist() == [150]


def test_words_stay_categories(tmp_path):
    sizes = ["S", "M", "L", "38", "40", "-"] * 20
    data = rl.read(write_prices(tmp_path, sizes))
    assert data.features.columns[0].categories == ("S", "M", "L", "38", "40", "-")


@pytest.mark.parametrize("to_frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_with_a_stray_text(to_frame):
    texts = prices()
    texts[150] = "?"
    columns = {"qid": [k // 10 for k in range(200)], "label": [k % 3 for k in range(200)]}
    with pytest.warns(MissingValuesWarning, match="'price'"):
        data = rl.from_table(to_frame({**columns, "price": texts}), allow_nan=True)
    assert data.features is None
    texts[150] = "free"
    with pytest.raises(DataError, match="row 150 has 'free'"):
        rl.from_table(to_frame({**columns, "price": texts}), allow_nan=True)


def test_text_that_is_numbers_throughout_was_meant_as_text_in_a_frame():
    frame = pd.DataFrame({"qid": [1] * 4, "label": [0, 1] * 2, "code": ["007", "12", "7", "12"]})
    data = rl.from_table(frame)
    assert data.features.columns[0].categories == ("007", "12", "7")


def test_a_model_knows_that_a_column_is_a_number(tmp_path):
    train = rl.read(write_prices(tmp_path, [*prices(199), ""], "train.csv"))
    ranker = rl.rankers.Described(rl.NewtonXENDCG()).fit(train)
    path = write_prices(tmp_path, ["-", "?", "3.5"] * 3, "few.csv")
    with pytest.warns(MissingValuesWarning):
        data = rl.read(path, like=ranker.features)
    assert np.isnan(data.X[:2, 0]).all()
    assert data.X[2, 0] == 3.5
    frame = pd.DataFrame({"price": ["3.5", "a lot"]})
    with pytest.raises(DataError, match="'a lot'"):
        ranker.predict(frame)


@pytest.mark.parametrize(
    ("texts", "delimiter", "options", "suggested"),
    [
        (["12,5", "7", "3,25"], ";", {"decimal": ","}, "decimal=','"),
        (["1.234,5", "7,0", "12"], ";", {"decimal": ",", "thousands": "."}, "thousands='.'"),
        (['"1,234.5"', '"1,000"', '"2,500"'], ",", {"thousands": ","}, "thousands=','"),
        (['"1,234"', '"2,500"', "7"], ",", {"thousands": ","}, "thousands=','"),
    ],
)
def test_commas_in_numbers(texts, delimiter, options, suggested, tmp_path):
    path = write_prices(tmp_path, texts * 10, delimiter=delimiter)
    with pytest.raises(DataError, match="has numbers with commas") as error:
        rl.read(path)
    assert suggested in str(error.value)
    data = rl.read(path, **options)
    plain = [t.strip('"') for t in texts]
    if options.get("thousands"):
        plain = [t.replace(options["thousands"], "") for t in plain]
    expected = [float(t.replace(",", ".") if options.get("decimal") else t) for t in plain]
    assert data.X[:3, 0].tolist() == np.array(expected, np.float32).tolist()


def test_options_of_numbers_are_checked(tmp_path):
    with pytest.raises(DataError, match="decimal must be"):
        rl.read(write_prices(tmp_path, prices()), decimal=",", thousands=",")


@pytest.mark.slow
def test_a_header_of_more_than_a_megabyte(tmp_path):
    names = [f"a_rather_long_name_of_a_feature_{j:06}" for j in range(30_000)]
    path = tmp_path / "wide.csv"
    rows = "".join(f"1,{k},{','.join(['0.5'] * len(names))}\n" for k in range(2))
    path.write_text(f"qid,label,{','.join(names)}\n{rows}")
    data = rl.read(path)
    assert data.X.shape == (2, 30_000)
    assert data.feature_names[-1] == names[-1]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16"])
def test_other_encodings(encoding, tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"1,{k % 2},{['été', 'Straße'][k % 2]}\n" for k in range(8))
    path.write_bytes(f"qid,label,Größe\n{rows}".encode(encoding))
    with pytest.raises(ParseError, match="encoding="):
        rl.read(path)
    data = rl.read(path, encoding=encoding)
    assert data.feature_names == ("Größe",)
    assert data.features.columns[0].categories == ("été", "Straße")
    late = tmp_path / "late.csv"
    plain = "".join(f"1,{k % 2},{['a', 'b'][k % 2]}\n" for k in range(100_000))
    late.write_bytes(f"qid,label,size\n{plain}1,0,é\n".encode("latin-1"))
    with pytest.raises(ParseError, match=r"not UTF-8 text; pass encoding="):
        rl.read(late)
    with pytest.raises(DataError, match="no encoding 'klingon'"):
        rl.read(path, encoding="klingon")


ROWS = [{"qid": k // 3, "label": k % 2, "x": k / 2, "kind": "ab"[k % 2]} for k in range(9)]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.txt"])
@pytest.mark.parametrize("indent", [None, 2])
def test_json_arrays(name, indent, tmp_path):
    path = tmp_path / name
    path.write_text(json.dumps(ROWS, indent=indent))
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    ours, theirs = rl.read(path), rl.read(lines)
    np.testing.assert_array_equal(ours.X, theirs.X)
    assert ours.features == theirs.features


@pytest.mark.parametrize(
    "text", ["[1, 2]", '[{"qid": 1}, 3]', '[{"qid": 1', '[{"x": 1}, {"x": "a"}]']
)
def test_what_is_no_array_of_objects_is_an_error(text, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ParseError, match=r"a\.json: "):
        rl.read(path)


def zipped(**files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


LETOR = b"2 qid:1 1:0.5 2:1\n0 qid:1 1:0.25 2:0\n"
CSV = b"qid,label,x\n1,1,0.5\n1,0,2\n"


@pytest.mark.parametrize(("content", "name"), [(LETOR, "a.txt"), (CSV, "a.csv")])
def test_zip_and_bzip2(content, name, tmp_path):
    plain = tmp_path / name
    plain.write_bytes(content)
    (tmp_path / f"{name}.bz2").write_bytes(bz2.compress(content))
    (tmp_path / f"{name}.zip").write_bytes(zipped(**{name: content}))
    for other in (f"{name}.bz2", f"{name}.zip"):
        np.testing.assert_array_equal(rl.read(tmp_path / other).X, rl.read(plain).X)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a": b"1", "b": b"2"}, "has 2 files: a, b; expected one"),
        ({}, "truncated or damaged|has 0 files|cannot read"),
        ({"xl/workbook.xml": b"<", "[Content_Types].xml": b"<"}, "save the table as CSV"),
    ],
)
def test_archives_that_are_no_table(files, reason, tmp_path):
    path = tmp_path / "a.csv.zip"
    path.write_bytes(zipped(**files))
    with pytest.raises(ParseError, match=reason):
        rl.read(path)


def test_bzip2_is_written_and_zip_is_not(tmp_path):
    (tmp_path / "a.txt").write_bytes(LETOR)
    data = rl.read(tmp_path / "a.txt")
    write_batches([data], tmp_path / "b.txt.bz2")
    assert (tmp_path / "b.txt.bz2").read_bytes()[:3] == b"BZh"
    np.testing.assert_array_equal(rl.read(tmp_path / "b.txt.bz2").X, data.X)
    with pytest.raises(DataError, match="zip archives are read, but not written"):
        write_batches([data], tmp_path / "b.txt.zip")
    assert not (tmp_path / "b.txt.zip").exists()


def test_ids_that_are_numbers_in_one_part_and_text_in_another(tmp_path):
    (tmp_path / "part-0.csv").write_text("qid,label,x\n7,1,0.5\n8,0,2\n")
    (tmp_path / "part-1.csv").write_text("qid,label,x\nshoes,1,3\n7,0,4\n")
    data = rl.read(tmp_path)
    assert data.query_ids.tolist() == ["7", "8", "shoes"]
    assert data.sizes.tolist() == [2, 1, 1]
