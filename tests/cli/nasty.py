"""Nasty files: what people have, what disks and editors do to it, and what a command says.

`python -m tests.cli.nasty` prints the table of `test_nasty_files.py` with what each command says.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Nasty:
    """A file and how a command ends on it.

    name : what is wrong with it
    file : its name
    content : its bytes; None if there is no file
    code : the exit code
    command : the words before the file
    options : the words after it
    """

    name: str
    file: str
    content: bytes | None
    code: int
    command: tuple[str, ...] = ("inspect",)
    options: tuple[str, ...] = ()


LETOR = [f"{k % 3} qid:{k // 4} 1:{k}.5 2:{k % 5}" for k in range(12)]
ROWS = [(k // 4, k % 3, k + 0.5, f"b{k % 3}") for k in range(12)]
CLICKS = [("p", "tv", "a", 1, 0), ("p", "tv", "b", 2, 1), ("r", "radio", "b", 1, 0)]


def letor(line: str | None = None, at: int = 5, end: str = "\n") -> bytes:
    lines = list(LETOR)
    if line is not None:
        lines[at] = line
    return (end.join(lines) + end).encode()


def csv(*, rows=None, head=("qid", "label", "price", "brand"), cell=None, mark=",", end="\n"):
    table = [list(map(str, row)) for row in (ROWS if rows is None else rows)]
    if cell is not None:
        row, column, value = cell
        table[row][column] = value
    return (end.join(mark.join(line) for line in [head, *table]) + end).encode()


def lines_of(objects) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in objects).encode()


def objects(**changed):
    made = [dict(zip(("qid", "label", "price", "brand"), row, strict=True)) for row in ROWS]
    made[5] |= changed
    return made


def parquet(**options) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = options.pop("table", None)
    if table is None:
        table = pa.Table.from_pylist(objects())
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def arrow() -> bytes:
    import pyarrow as pa

    table, stream = pa.Table.from_pylist(objects()), io.BytesIO()
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


def zipped(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, letor())
    return stream.getvalue()


def clicks(*, row=None, head=("page", "query", "item", "position", "click"), more=()) -> bytes:
    table = [*CLICKS, *([row] if row else []), *more]
    return ("\n".join(",".join(map(str, line)) for line in [head, *table]) + "\n").encode()


INSPECT_CLICKS = ("clicks", "inspect")
CASES: list[Nasty] = []
SAYS = {
    "no file": "cannot read it: No such file or directory",
    "empty": "the file is empty",
    "only spaces": "none of its 2 lines is a usable row",
    "only comments": "none of its 2 lines is a usable row",
    "old Macintosh ends of lines": "a.txt:1: found '1' where a feature should be",
    "UTF-16": "a.txt:1: it is UTF-16 text",
    "NUL bytes": "a.txt:6: feature 1 is '2",
    "a word as grade": "a.txt:6: found 'good' where the grade should be",
    "no grade": "a.txt:6: found 'qid:1' where the grade should be",
    "no query": "a.txt:6: the row has no query id, while others have",
    "two queries in a row": "a.txt:6: found 'qid:2' among the features",
    "a word as value": "a.txt:6: feature 1 is 'x'",
    "a decimal comma": "a.txt:6: feature 1 is '2,5'",
    "NaN as value": "a.txt:6: feature 1 is 'nan'",
    "infinite value": "a.txt:6: feature 1 is 'inf'",
    "value beyond float32": "a.txt:6: feature 1 is '1e60', too large for a 32",
    "negative feature": "a.txt:6: found '-1:2' where a feature should be",
    "the same feature twice": "a.txt:6: feature 1 stands twice in the row",
    "a huge feature number": "a.txt:6: found '999999999:3' where a feature sh",
    "a lost colon": "a.txt:6: found '1' where a feature should be",
    "grade NaN": "a.txt:6: found 'nan' where the grade should be",
    "a bad row, skipped": "a.txt: 1 bad row left out of 12",
    "a picture": "a.txt:1: found '",
    "a PDF": "a.txt:1: found '%PDF-1.7' where the grade should be",
    "HTML of a proxy": "a.txt:1: found '<!DOCTYPE' where the grade should be",
    "a Git LFS pointer": "a.txt:1: found 'version' where the grade should be",
    "zip of two files": "the zip archive has 2 files: a.txt, b.txt",
    "empty zip": "the zip archive has 0 files",
    "half a gzip": "the compressed file is truncated or damaged (Compressed f",
    "half a bzip2": "the compressed file is truncated or damaged (it ends bef",
    "half an xz": "the compressed file is truncated or damaged (it ends befor",
    "a gzip with a damaged sum": "the compressed file is truncated or damaged",
    "gzip twice": "it is compressed twice",
    "garbage after gzip": "the compressed file is truncated or damaged (Not a",
    "a tar archive": "it is a tar archive",
    "empty CSV": "the file is empty",
    "header only": "it has no rows",
    "no header": "a.csv:1: two columns are named '0'",
    "Latin-1": "column 'brand' is not UTF-8 text",
    "UTF-16 CSV": "a.csv:1: its first line is not utf-8 text",
    "an unknown encoding": "there is no encoding 'klingon'",
    "a cell too few": "a.csv:14: cannot read it: found 2 fields, expected 4",
    "a cell too many": "a.csv:14: cannot read it: found 5 fields, expected 4",
    "two columns of one name": "a.csv:1: two columns are named 'price'",
    "no query column": "no column is named 'qid' or 'query_id' or 'query' or",
    "two query columns": "'qid', 'query_id' could each be the query",
    "a missing query": "'qid' is null in row 3",
    "a missing grade": "'label' is null in row 3",
    "? as price": "column 'price' holds numbers, of which 1 value is missing ('?')",
    "- as price": "column 'price' holds numbers, of which 1 value is missing ('-')",
    "None as price": "column 'price' holds numbers, of which 1 value is missi",
    "\\N as price": "column 'price' holds numbers, of which 1 value is missin",
    "#DIV/0! as price": "column 'price' holds numbers, of which 1 value is mi",
    "12.5 EUR as price": "column 'price' is text, but 91.67% of its values ar",
    "decimal commas": "column 'price' has numbers with commas, such as '0,5",
    "separated thousands": "column 'price' has numbers with commas, such as",
    "a word as grade in CSV": "column 'label' is text, but 91.67% of its valu",
    "an infinite price": "feature price of row 3 is inf as float32",
    "a price beyond float32": "feature price of row 3 is inf as float32",
    "a quote that never ends": 'a.csv:5: a cell begins with " here, and has n',
    "an id for each row": "these columns have different text in nearly all of",
    "a header of 2 MB": "it has no rows",
    "an option for text": "--n-features is for LETOR text, but the data is csv",
    "an unknown column": "there is no column 'prize'",
    "Excel": "it is a document of an office program",
    "empty JSON": "cannot read it: Empty JSON file",
    "an empty array": "its array is empty",
    "an array of numbers": "its array has values that are no objects",
    "one object": "no column is named 'qid' or 'query_id' or 'query' or 'grou",
    "half a line": "cannot read it: Missing a closing quotation mark in strin",
    "half an array": "it is not a JSON array: Unterminated string starting at",
    "single quotes": "cannot read it: Missing a name for object member. in row 0",
    "a text among numbers": "cannot read it: Column(/price) changed from numb",
    "an object in a cell": "cannot read it: Column(/price) changed from numbe",
    "a list in a cell": "cannot read it: Column(/price) changed from number t",
    "deep JSON": "it is not a JSON array: maximum recursion depth exceeded wh",
    "half a Parquet file": "cannot read it: Parquet magic bytes not found in",
    "Parquet without its end": "cannot read it: Parquet magic bytes not found",
    "Parquet with damaged pages": "cannot read it: Couldn't deserialize thrif",
    "compressed Parquet": "it starts with b'",
    "half an Arrow file": "cannot read it: Not an Arrow file",
    "Arrow with damaged ends": "cannot read it: Not an Arrow file",
    "Parquet without rows": "it has no rows",
    "an RLDS file that is text": "it is not a mapped data set (rankloop conve",
    "half an RLDS header": "it is not a mapped data set (rankloop convert mak",
    "clicks without rows": "a.csv:2: it has 2 columns, expected 5",
    "no column of clicks": "no column is named 'clicked' or 'click' or 'click",
    "two columns of queries": "'qid', 'query' could each be the query",
    "a click on nothing": "a.csv:5: it has no document (column 'item')",
    "a word as click": "a.csv:5: it has the clicked 'often'",
    "position 0": "a.csv:5: it has the position 0",
    "two documents at one place": "a.csv:5: it is at position 2 of its page,",
    "a repeated row": "a.csv:5: it repeats the document at position 2 of its page",
    "another query on a page": "a.csv:5: it has query 'phone', but other rows",
    "a short row": "a.csv:5: it has 2 columns, expected 5",
    "only clicked rows": "all 20 rows were clicked",
    "half a line of clicks": "a.jsonl:2: it is not a JSON object: Expecting value",
    "UBI without queries": "no query could be joined with the documents that",
    "Yandex's text, damaged": "a.txt:2: found 'q\\t:', expected 'query TAB do",
    "RelPred, damaged": "a.txt:2: found '0\\t1\\tC', expected 'session time Q",
    "TianGong, cut off": "a.xml:1: it is not XML: no element found",
    "clicks in prose": "cannot tell the format of a.txt",
    "no clicks at all": "cannot read it: No such file or directory",
}
"""What commands say about cases that are errors, or have a warning."""


def case(*given, **options) -> None:
    CASES.append(Nasty(*given, **options))


def log(*given, options=()) -> None:
    CASES.append(Nasty(*given, command=INSPECT_CLICKS, options=options))


def text_cases() -> None:
    case("good LETOR", "a.txt", letor(), 0)
    case("no file", "none.txt", None, 1)
    case("empty", "a.txt", b"", 1)
    case("only spaces", "a.txt", b"  \n\t\n", 1)
    case("only comments", "a.txt", b"# nothing\n# here\n", 1)
    case("byte order mark", "a.txt", b"\xef\xbb\xbf" + letor(), 0)
    case("Windows ends of lines", "a.txt", letor(end="\r\n"), 0)
    case("old Macintosh ends of lines", "a.txt", letor(end="\r"), 1)
    case("no end of the last line", "a.txt", letor()[:-1], 0)
    case("UTF-16", "a.txt", letor().decode().encode("utf-16"), 1)
    case("NUL bytes", "a.txt", letor("1 qid:1 1:2\0 2:3"), 1)
    case("a word as grade", "a.txt", letor("good qid:1 1:2 2:3"), 1)
    case("no grade", "a.txt", letor("qid:1 1:2 2:3"), 1)
    case("no query", "a.txt", letor("1 1:2 2:3"), 1)
    case("two queries in a row", "a.txt", letor("1 qid:1 qid:2 1:2"), 1)
    case("a word as value", "a.txt", letor("1 qid:1 1:x 2:3"), 1)
    case("a decimal comma", "a.txt", letor("1 qid:1 1:2,5 2:3"), 1)
    case("NULL as value", "a.txt", letor("1 qid:1 1:NULL 2:3"), 0)
    case("NaN as value", "a.txt", letor("1 qid:1 1:nan 2:3"), 1)
    case("infinite value", "a.txt", letor("1 qid:1 1:inf 2:3"), 1)
    case("value beyond float32", "a.txt", letor("1 qid:1 1:1e60 2:3"), 1)
    case("feature 0", "a.txt", letor("1 qid:1 0:2 1:3"), 0)
    case("negative feature", "a.txt", letor("1 qid:1 -1:2 2:3"), 1)
    case("the same feature twice", "a.txt", letor("1 qid:1 1:2 1:3"), 1)
    case("features in another order", "a.txt", letor("1 qid:1 2:2 1:3"), 0)
    case("a huge feature number", "a.txt", letor("1 qid:1 1:2 999999999:3"), 1)
    case("a lost colon", "a.txt", letor("1 qid:1 1 2:3"), 1)
    case("negative grade", "a.txt", letor("-2 qid:1 1:2 2:3"), 0)
    case("grade NaN", "a.txt", letor("nan qid:1 1:2 2:3"), 1)
    case("a bad row, skipped", "a.txt", letor("good qid:1 1:2"), 0, options=("--skip-bad-rows",))
    case("a query in two places", "a.txt", letor("1 qid:0 1:2 2:3", 11), 0)
    case("a picture", "a.txt", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), 1)
    case("a PDF", "a.txt", b"%PDF-1.7\n%\xe2\xe3\n1 0 obj\n", 1)
    case("HTML of a proxy", "a.txt", b"<!DOCTYPE html>\n<html><body>Login</body></html>\n", 1)
    case(
        "a Git LFS pointer",
        "a.txt",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        1,
    )


def packed_cases() -> None:
    good = letor()
    case("gzip", "a.txt.gz", gzip.compress(good), 0)
    case("bzip2", "a.txt.bz2", bz2.compress(good), 0)
    case("xz", "a.txt.xz", lzma.compress(good), 0)
    case("zip of one file", "a.zip", zipped("a.txt"), 0)
    case("zip of two files", "a.zip", zipped("a.txt", "b.txt"), 1)
    case("empty zip", "a.zip", zipped(), 1)
    case("half a gzip", "a.txt.gz", gzip.compress(good * 50)[:60], 1)
    case("half a bzip2", "a.txt.bz2", bz2.compress(good * 50)[:60], 1)
    case("half an xz", "a.txt.xz", lzma.compress(good * 50)[:60], 1)
    case("a gzip with a damaged sum", "a.txt.gz", gzip.compress(good)[:-8] + b"12345678", 1)
    case("gzip without the suffix", "a.txt", gzip.compress(good), 0)
    case("the suffix without gzip", "a.txt.gz", good, 0)
    case("gzip twice", "a.txt.gz", gzip.compress(gzip.compress(good)), 1)
    case("garbage after gzip", "a.txt.gz", gzip.compress(good) + b"garbage", 1)
    case("a tar archive", "a.tar", b"a.txt\0" + bytes(251) + b"ustar" + bytes(250), 1)


def csv_cases() -> None:
    case("good CSV", "a.csv", csv(), 0)
    case("empty CSV", "a.csv", b"", 1)
    case("header only", "a.csv", csv(rows=[]), 1)
    case("no header", "a.csv", csv().split(b"\n", 1)[1], 1)
    case("semicolons", "a.csv", csv(mark=";"), 0)
    case("tabs in .csv", "a.csv", csv(mark="\t"), 0)
    case("bars", "a.csv", csv(mark="|"), 0)
    case("byte order mark in CSV", "a.csv", b"\xef\xbb\xbf" + csv(), 0)
    case("Windows ends in CSV", "a.csv", csv(end="\r\n"), 0)
    case("Latin-1", "a.csv", csv(cell=(3, 3, "caf\xe9")).decode().encode("latin-1"), 1)
    case("Latin-1, named", "a.csv", csv(cell=(3, 3, "caf\xe9")).decode().encode("latin-1"), 0,
         options=("--encoding", "latin-1"))  # fmt: skip
    case("UTF-16 CSV", "a.csv", csv().decode().encode("utf-16"), 1)
    case("UTF-16 CSV, named", "a.csv", csv().decode().encode("utf-16"), 0,
         options=("--encoding", "utf-16"))  # fmt: skip
    case("an unknown encoding", "a.csv", csv(), 1, options=("--encoding", "klingon"))
    case("a cell too few", "a.csv", csv() + b"9,1\n", 1)
    case("a cell too many", "a.csv", csv() + b"9,1,2,b1,x\n", 1)
    case("two columns of one name", "a.csv", csv(head=("qid", "label", "price", "price")), 1)
    case("an unnamed column", "a.csv", csv(head=("qid", "label", "", "brand")), 0)
    case("no query column", "a.csv", csv(head=("a", "label", "price", "brand")), 1)
    case("no grade column", "a.csv", csv(head=("qid", "b", "price", "brand")), 0)
    case("two query columns", "a.csv", csv(head=("qid", "label", "query_id", "brand")), 1)
    case("a missing price", "a.csv", csv(cell=(3, 2, "")), 0)
    case("a missing query", "a.csv", csv(cell=(3, 0, "")), 1)
    case("a missing grade", "a.csv", csv(cell=(3, 1, "")), 1)
    case("? as price", "a.csv", csv(cell=(3, 2, "?")), 0)
    case("- as price", "a.csv", csv(cell=(3, 2, "-")), 0)
    case("None as price", "a.csv", csv(cell=(3, 2, "None")), 0)
    case("\\N as price", "a.csv", csv(cell=(3, 2, "\\N")), 0)
    case("#DIV/0! as price", "a.csv", csv(cell=(3, 2, "#DIV/0!")), 0)
    case("12.5 EUR as price", "a.csv", csv(cell=(3, 2, "12.5 EUR")), 1)
    case("12.5 EUR, said to be missing", "a.csv", csv(cell=(3, 2, "12.5 EUR")), 0,
         options=("--missing", "12.5 EUR"))  # fmt: skip
    commas = [(q, y, f'"{p:.1f}"'.replace(".", ","), b) for q, y, p, b in ROWS]
    case("decimal commas", "a.csv", csv(rows=commas), 1)
    case("decimal commas, named", "a.csv", csv(rows=commas), 0, options=("--decimal", ","))
    many = [(q, y, f'"{1000 * (k + 1):,}"', b) for k, (q, y, _, b) in enumerate(ROWS)]
    case("separated thousands", "a.csv", csv(rows=many), 1)
    case("separated thousands, named", "a.csv", csv(rows=many), 0, options=("--thousands", ","))
    case("a word as grade in CSV", "a.csv", csv(cell=(3, 1, "good")), 1)
    case("a grade of 1.5e300", "a.csv", csv(cell=(3, 1, "1.5e300")), 0)
    case("an infinite price", "a.csv", csv(cell=(3, 2, "inf")), 1)
    case("a price beyond float32", "a.csv", csv(cell=(3, 2, "1e300")), 1)
    case("a quote that never ends", "a.csv", csv(cell=(3, 3, '"open')), 1)
    case("a line break in a cell", "a.csv", csv(cell=(3, 3, '"a\nb"')), 0)
    case("an id for each row", "a.csv", csv(rows=[(k // 4, 1, k, f"id{k}") for k in range(300)]), 1)
    case(
        "a header of 2 MB",
        "a.csv",
        b"qid,label," + b",".join(b"f%d" % k for k in range(200_000)) + b"\n",
        1,
    )
    case("NUL in CSV", "a.csv", csv(cell=(3, 3, "a\0b")), 0)
    case("an option for text", "a.csv", csv(), 1, options=("--n-features", "3"))
    case("an unknown column", "a.csv", csv(), 1, options=("--drop", "prize"))
    case("Excel", "a.xlsx", zipped("xl/workbook.xml", "xl/styles.xml"), 1)


def json_cases() -> None:
    good = lines_of(objects())
    case("good JSON lines", "a.jsonl", good, 0)
    case("a JSON array", "a.json", json.dumps(objects()).encode(), 0)
    case("empty JSON", "a.jsonl", b"", 1)
    case("an empty array", "a.json", b"[]", 1)
    case("an array of numbers", "a.json", b"[1, 2]", 1)
    case("one object", "a.json", json.dumps({"data": objects()}).encode(), 1)
    case("half a line", "a.jsonl", good[:-9], 1)
    case("half an array", "a.json", json.dumps(objects()).encode()[:-9], 1)
    case("single quotes", "a.jsonl", str(objects()[0]).encode() + b"\n", 1)
    case("NaN in JSON", "a.jsonl", lines_of(objects(price=float("nan"))), 0)
    case("null in JSON", "a.jsonl", lines_of(objects(price=None)), 0)
    case("a text among numbers", "a.jsonl", lines_of(objects(price="cheap")), 1)
    case("an object in a cell", "a.jsonl", lines_of(objects(price={"eur": 1})), 1)
    case("a list in a cell", "a.jsonl", lines_of(objects(price=[1, 2])), 1)
    case("a key that some lack", "a.jsonl", lines_of([*objects(), {"qid": 9, "label": 1}]), 0)
    case("deep JSON", "a.json", b"[" * 100_000, 1)


def binary_cases() -> None:
    good = parquet()
    case("good Parquet", "a.parquet", good, 0)
    case("half a Parquet file", "a.parquet", good[: len(good) // 2], 1)
    case("Parquet without its end", "a.parquet", good[:-4], 1)
    case("Parquet with damaged pages", "a.parquet", good[:40] + b"\xff" * 40 + good[80:], 1)
    case("Parquet named .csv", "a.csv", good, 0)
    case("CSV named .parquet", "a.parquet", csv(), 0)
    case("compressed Parquet", "a.parquet.gz", gzip.compress(good), 1)
    case("good Arrow", "a.arrow", arrow(), 0)
    case("half an Arrow file", "a.arrow", arrow()[:-200], 1)
    case("Arrow with damaged ends", "a.arrow", arrow()[:-20] + b"\xff" * 20, 1)
    case("Parquet without rows", "a.parquet", parquet(table=_no_rows()), 1)
    case("an RLDS file that is text", "a.rlds", letor(), 1)
    case("half an RLDS header", "a.rlds", b"RLDATA", 1)


def _no_rows():
    import pyarrow as pa

    return pa.Table.from_pylist(objects()).slice(0, 0)


def click_cases() -> None:
    log("good clicks", "a.csv", clicks(), 0)
    log("clicks without rows", "a.csv", clicks()[:33], 1)
    log("no column of clicks", "a.csv", clicks(head=("page", "query", "item", "position", "b")), 1)
    log(
        "two columns of queries",
        "a.csv",
        clicks(head=("qid", "query", "item", "position", "click")),
        1,
    )
    log("a click on nothing", "a.csv", clicks(row=("p", "tv", "", 3, 1)), 1)
    log("a word as click", "a.csv", clicks(row=("p", "tv", "c", 3, "often")), 1)
    log("position 0", "a.csv", clicks(row=("p", "tv", "c", 0, 1)), 1)
    log("two documents at one place", "a.csv", clicks(row=("p", "tv", "c", 2, 1)), 1)
    log("a repeated row", "a.csv", clicks(row=("p", "tv", "b", 2, 1)), 1)
    log("a repeated row, dropped", "a.csv", clicks(row=("p", "tv", "b", 2, 1)), 0,
        options=("--drop-duplicates",))  # fmt: skip
    log("another query on a page", "a.csv", clicks(row=("p", "phone", "c", 3, 1)), 1)
    log("short rows, skipped", "a.csv", clicks(row=("p", "tv")), 0, options=("--skip-bad-rows",))
    log("a short row", "a.csv", clicks(row=("p", "tv")), 1)
    log("only clicked rows", "a.csv", clicks(more=[("z", "q", k, k, 1) for k in range(1, 20)])[:0]
        + b"query,item,click\n" + b"".join(b"q,%d,1\n" % k for k in range(20)), 1)  # fmt: skip
    log("JSON lines of clicks", "a.jsonl", b'{"query": "q", "item": 1, "click": 0}\n' * 1, 0)
    log("half a line of clicks", "a.jsonl", b'{"query": "q", "item": 1, "click": 0}\n{"query":', 1)
    log("UBI without queries", "a.ndjson", b'{"action_name": "click"}\n', 1)
    log("Yandex's text, damaged", "a.txt", b"q\ta,b : a;\nq\t: ;x\n", 1)
    log("RelPred, damaged", "a.txt", b"0\t0\tQ\t1\t2\t3\n0\t1\tC\n", 1)
    log("TianGong, cut off", "a.xml", b"<sessions><session><interaction>", 1)
    log("clicks in prose", "a.txt", b"Dear Sir or Madam\n", 1)
    log("no clicks at all", "none.csv", None, 1)


for _add in (text_cases, packed_cases, csv_cases, json_cases, binary_cases, click_cases):
    _add()


def main() -> None:
    """Print the table."""
    print("| what | file | code | message |\n|---|---|---:|---|")
    for one in CASES:
        words = " ".join([*one.command, one.file, *one.options])
        print(f"| {one.name} | `{words}` | {one.code} | {SAYS.get(one.name, '')} |")


if __name__ == "__main__":
    main()
