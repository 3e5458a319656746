"""Bad rows of text are named by their line, and left out if the caller says so."""

import gzip

import pytest

import rankloop as rl
from rankloop.exceptions import BadRowsWarning, DataError, ParseError

GOOD = "qid,label,x,note\n1,2,3,a\n"
BAD = {
    "1,2\n": "found 2 fields, expected 4",
    "1,2,3,4,5\n": "found 5 fields, expected 4",
    ",2,3,a\n": "'qid' is null in row",
    "1,,3,a\n": "'label' is null in row",
    "1,good,3,a\n": "'good'; a label must be a number",
}


@pytest.mark.parametrize("before", ["", "\n\n", '1,0,1,"two\nlines"\n'])
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_row_of_csv(tmp_path, bad, before):
    path = tmp_path / "a.csv"
    head = GOOD + before
    path.write_text(head + bad + "2,1,4,b\n")
    with pytest.raises(ParseError) as error:
        rl.read(path)
    assert BAD[bad] in str(error.value)
    assert error.value.line == head.count("\n") + 1
    with pytest.warns(BadRowsWarning, match=f"1 bad row left out.*line {error.value.line}: "):
        data = rl.read(path, skip_bad_rows=True)
    path.write_text(head + "2,1,4,b\n")
    whole = rl.read(path)
    assert (data.X == whole.X).all()
    assert (data.y == whole.y).all()
    assert data.qid.tolist() == whole.qid.tolist()


def test_several(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("qid,label,x\n1,2\n1,1,1\n,2,3\n1\n1,-inf,3\n2,0,2\n1,x,3\n")
    said = "5 bad rows left out of 7; line 2: found 2 fields; line 4: 'qid' is missing; line 5: f"
    with pytest.warns(BadRowsWarning, match=said):
        assert rl.read(path, skip_bad_rows=True).y.tolist() == [1, 0]
    path.write_text("qid,label,x\n1,2,1\n")
    assert len(rl.read(path, skip_bad_rows=True)) == 1  # nothing to tell


def test_values_and_mistakes_have_a_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("qid,label,x\n" + "1,2,3\n" * 20 + "1,1,1e39\n")
    with pytest.raises(ParseError, match=r"a\.csv:22: feature x of row 20 is inf"):
        rl.read(path)
    path.write_text("qid,label,x\n" + "1,2,3\n" * 20 + "1,1,3x\n")
    with pytest.raises(ParseError, match=r"a\.csv:22: column 'x' is text, but 95.24%"):
        rl.read(path)


def test_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"qid": 1, "label": 1, "x": 1}\n\n{"qid": 1, "x": 2}\n')
    with pytest.raises(ParseError, match=r"a\.jsonl:3: 'label' is null"):
        rl.read(path)
    with pytest.warns(BadRowsWarning, match="line 3: 'label' is missing"):
        assert rl.read(path, skip_bad_rows=True).n_documents == 1


def test_files_that_have_no_lines(tmp_path):
    path = tmp_path / "a.parquet"
    rl.data.write_table(rl.QueryDataset.from_arrays([[1.0]], [1], group=[1]), path)
    with pytest.raises(DataError, match="skip_bad_rows= is for text, but this is parquet"):
        rl.read(path, skip_bad_rows=True)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(("before", "line"), [(0, 1), (3, 4), (50_000, 50_001)])
def test_a_line_of_json_that_is_null_is_named(tmp_path, before, line, suffix):
    """Where a block of pyarrow begins with one, its parser ended the process."""
    row = b'{"qid": 1, "label": 1, "price": 1.5}\n'
    content = before * row + b" null\r\n" * 3 + row
    path = tmp_path / f"rows.jsonl{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    with pytest.raises(ParseError, match=rf"rows.jsonl.*:{line}: the line is null"):
        rl.read(path)


def test_texts_of_json_may_be_null_and_begin_with_it(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"qid": 1, "label": 0, "brand": null}\n{"qid": 1, "label": 1, "brand": "null"}'
    )
    assert rl.read(path).n_documents == 2
