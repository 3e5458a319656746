"""Bad inputs and misuses through every command: an exit code, a message, no traceback.

1: data or a model that cannot be used, told in one line. 2: a command that cannot be understood.
Nothing is written, and nothing is done in silence.
"""

from __future__ import annotations

import itertools

import pandas as pd
import pytest

import rankloop as rl

GOOD = "2 qid:1 1:1 2:0\n0 qid:1 1:2 2:1\n1 qid:2 1:3 2:0\n0 qid:2 1:0 2:5\n"

READERS = {
    "inspect": ["inspect", "{}"],
    "train": ["train", "{}", "-o", "out.rlm"],
    "score": ["score", "model.rlm", "{}", "-o", "out.txt"],
    "compare": ["compare", "{}", "-r", "slam"],
    "tune": ["tune", "{}", "-r", "slam", "--trials", "1"],
    "stream": ["stream", "{}", "-r", "slam"],
    "explain": ["explain", "model.rlm", "{}"],
    "evaluate": ["evaluate", "{}", "--model", "model.rlm"],
    "compare-runs": ["compare-runs", "{}", "--model", "a=model.rlm", "--model", "b=model.rlm"],
    "convert": ["convert", "{}", "out.parquet"],
    "init": ["init", "{}", "-o", "out.toml"],
}
INPUTS = {
    "nothing.txt": "nothing.txt: cannot read it: No such file",
    "empty.txt": "empty.txt: the file is empty",
    "bad.txt": "bad.txt:2: ",
    "plain.txt": "plain.txt: no row has a query id",
    "picture.png": "picture.png:1: ",
    "folder": "folder: the folder contains no data files",
    "*.nothing": "no file matches this pattern",
    "empty.csv": "empty.csv: the file is empty",
    "header.csv": "header.csv: it has no rows",
    "numbers.csv": "the first line holds numbers",
    "ragged.csv": "ragged.csv:2: cannot read it: found 2 fields, expected 3",
    "noquery.csv": "pass --query to name the column",
    "twice.csv": "two columns are named 'x'",
    "cut.parquet": "cut.parquet: cannot read it",
    "bad.jsonl": "bad.jsonl: cannot read it",
    "duckdb:no.db?select 1": "DuckDB says",
    "duckdb:no.db": "names a database but no query",
}
"""What cannot be read, and what is said of it."""

USAGE = {
    "unknown option": (["--fast"], "No such option"),
    "unknown format": (["--format", "xls"], "unknown format 'xls'"),
    "no configuration": (["--label", "a", "--click", "b"], "either --label or --click"),
    "n_features": (["--n-features", "0"], "--n-features"),
    "null": (["--null", "x"], "--null"),
}

OTHERS = [
    (2, ["learn"], "No such command 'learn'"),
    (2, ["trian", "good.txt"], "Did you mean 'train'"),
    (2, ["inspect"], "Missing argument 'DATA"),
    (2, ["train", "good.txt"], "Missing option '--output'"),
    (2, ["train", "-o", "out.rlm"], "Missing argument 'DATA"),
    (2, ["train", "good.txt", "-o", "no/out.rlm"], "there is no folder no"),
    (2, ["train", "good.txt", "-o", "out.rlm", "-r", "slm"], "did you mean 'slam'?"),
    (2, ["train", "good.txt", "-o", "out.rlm", "-r", "slam:pace=1"], "has no parameter 'pace'"),
    (2, ["train", "good.txt", "-o", "out.rlm", "--scale", "big"], "there is no scaler 'big'"),
    (2, ["train", "good.txt", "-o", "out.rlm", "-m", "nCDG@10"], "did you mean 'nDCG'?"),
    (2, ["train", "good.txt", "-o", "out.rlm", "-c", "trec"], "did you mean 'trec_eval'?"),
    (
        2,
        ["train", "good.txt", "-o", "out.rlm", "--keep", "0.5"],
        "--keep needs a model to continue",
    ),
    (
        2,
        ["train", "good.txt", "-o", "out.rlm", "--from", "model.rlm", "-r", "slam"],
        "leave out -r",
    ),
    (
        2,
        ["train", "good.txt", "-o", "out.rlm", "--from", "model.rlm", "--scale", "log"],
        "leave out --scale",
    ),
    (1, ["train", "good.txt", "-o", "out.rlm", "--from", "none.rlm"], "none.rlm"),
    (1, ["train", "good.txt", "-o", "out.rlm", "--from", "good.txt"], "good.txt"),
    (1, ["train", "good.txt", "-o", "out.rlm", "--from", "model.rlm", "--keep", "2"], "keep must"),
    (1, ["train", "wide.txt", "-o", "out.rlm", "--from", "model.rlm"], "wide.txt"),
    (1, ["train", "good.txt", "-o", "folder"], "folder"),
    (1, ["train", "good.txt", "-o", "out.rlm", "--valid", "none.txt"], "none.txt"),
    (1, ["train", "ids.csv", "-o", "out.rlm"], "leave them out with --drop"),
    (1, ["train", "good.txt", "-o", "out.rlm", "--label", "y"], "--label is for tables"),
    (1, ["train", "shop.csv", "-o", "out.rlm", "--n-features", "3"], "--n-features is for LETOR"),
    (1, ["train", "shop.csv", "-o", "out.rlm", "--query", "qud"], "did you mean 'qid'?"),
    (1, ["train", "shop.csv", "-o", "out.rlm", "--drop", "u,v"], "there are no columns 'u', 'v'"),
    (1, ["train", "shop.csv", "-o", "out.rlm", "--features", "qid"], "qid"),
    (1, ["train", "nolabel.csv", "-o", "out.rlm"], "pass --label to name the column"),
    (1, ["train", "inf.csv", "-o", "out.rlm"], "feature x of row 0 is inf"),
    (1, ["train", "none.toml", "-o", "out.rlm", "--config", "none.toml"], "none.toml"),
    (1, ["train", "--config", "bad.toml", "-o", "out.rlm"], "bad.toml: it is not TOML"),
    (1, ["train", "--config", "odd.toml", "-o", "out.rlm"], "unknown setting 'lable'"),
    (1, ["score", "none.rlm", "good.txt"], "none.rlm"),
    (1, ["score", "good.txt", "good.txt"], "good.txt"),
    (2, ["score", "model.rlm"], "Missing argument 'DATA"),
    (2, ["score", "model.rlm", "good.txt", "--run", "--json"], "either --run or --json"),
    (2, ["score", "model.rlm", "good.txt", "-o", "no/a"], "there is no folder no"),
    (1, ["score", "model.rlm", "good.txt", "-o", "folder"], "folder"),
    (1, ["score", "model.rlm", "wide.txt", "-o", "out.txt"], "wide.txt"),
    (1, ["score", "shop.rlm", "renamed.csv", "-o", "out.txt"], "there is no column 'x'"),
    (1, ["score", "shop.rlm", "typed.csv", "-o", "out.txt"], "column 'x' should hold numbers"),
    (2, ["compare", "good.txt"], "Missing option '--ranker'"),
    (2, ["compare", "good.txt", "-r", "slam", "--folds", "2"], "folds must be letor or"),
    (2, ["compare", "good.txt", "-r", "slam", "--folds", "x"], "folds must be letor or"),
    (2, ["compare", "good.txt", "-r", "slam", "--baseline", "auto"], "is not among the rankers"),
    (2, ["compare", "good.txt", "-r", "slam", "--report", "a.doc"], ".md or .html"),
    (2, ["compare", "good.txt", "-r", "slam", "--plot", "a.doc"], "the suffix '.doc'"),
    (2, ["compare", "good.txt", "-r", "slam", "--jobs", "0"], "--jobs"),
    (2, ["compare", "good.txt", "-r", "slam", "--json", "--csv"], "give only one of --json"),
    (2, ["compare", "good.txt", "-r", "slam", "--folds", "3", "--splits", "0.6/0.2/0.2"], "either"),
    (1, ["compare", "good.txt", "-r", "slam", "--splits", "1/2"], "write splits as"),
    (1, ["compare", "good.txt", "-r", "slam"], "cannot be split into 5 folds"),
    (1, ["compare", "good.txt", "-r", "slam", "-r", "slam"], "is given twice"),
    (1, ["compare", "good.txt", "-r", "slam", "--folds", "letor"], "good.txt"),
    (2, ["tune", "good.txt"], "Missing option '--ranker'"),
    (2, ["tune", "good.txt", "-r", "slam", "--folds", "1"], "--folds"),
    (2, ["tune", "good.txt", "-r", "slam", "--trials", "0"], "--trials"),
    (1, ["tune", "good.txt", "-r", "auto"], "auto has no parameters to search"),
    (1, ["tune", "good.txt", "-r", "slam", "--folds", "9"], "number of folds"),
    (2, ["stream", "good.txt"], "Missing option '--ranker'"),
    (2, ["stream", "good.txt", "-r", "slam", "--permutations", "0"], "--permutations"),
    (2, ["stream", "good.txt", "-r", "slam", "--window", "0"], "--window"),
    (2, ["stream", "-", "-r", "slam", "--scale", "log"], "--scale needs all data"),
    (2, ["stream", "-", "-r", "slam", "--plot", "a.png"], "--plot needs all data"),
    (2, ["stream", "-", "-r", "slam", "--permutations", "3"], "--permutations needs all data"),
    (1, ["stream", "-", "-r", "slam"], "-: the file is empty"),
    (1, ["stream", "good.txt", "-r", "xendcg-boost"], "these learn online"),
    (1, ["explain", "none.rlm"], "none.rlm"),
    (2, ["explain", "model.rlm", "--of", "1"], "--of needs DATA"),
    (2, ["explain", "model.rlm", "--plot", "a.png"], "--plot needs DATA"),
    (2, ["explain", "model.rlm", "--top", "0"], "--top"),
    (1, ["explain", "model.rlm", "good.txt", "--of", "9"], "there is no query '9'"),
    (2, ["train", "good.txt", "-o", "out.rlm", "-r", "lightgbm"], "can only be used in `compare`"),
    (2, ["compare", "good.txt", "-r", "xgboost:depth=3"], "xgboost has no parameter"),
    (2, ["rankers", "slm"], "did you mean 'slam'?"),
    (2, ["rankers", "slam", "--json", "--latex"], "give only one of --json"),
    (2, ["evaluate", "good.txt"], "give one ranking: --scores FILE"),
    (2, ["evaluate", "good.txt", "--scores", "a", "--run", "b"], "give one ranking"),
    (
        2,
        ["evaluate", "good.txt", "--model", "model.rlm", "--explain", "--per-query"],
        "leave out --per",
    ),
    (2, ["evaluate", "good.txt", "--model", "model.rlm", "-m", "P@0"], "at least 1"),
    (1, ["evaluate", "good.txt", "--scores", "none.txt"], "none.txt"),
    (1, ["evaluate", "good.txt", "--scores", "one.txt"], "1 scores, but the data has 4 rows"),
    (1, ["evaluate", "good.txt", "--scores", "good.txt"], "good.txt:1: found"),
    (1, ["evaluate", "good.txt", "--run", "one.txt"], "one.txt:1: found 1 field"),
    (1, ["evaluate", "good.txt", "--model", "good.txt"], "good.txt"),
    (1, ["evaluate", "nolabel.csv", "--model", "model.rlm"], "pass --label"),
    (1, ["evaluate", "good.txt", "--model", "model.rlm", "-c", "trec_eval"], "add ids"),
    (1, ["compare-runs", "good.txt", "--model", "model.rlm"], "at least 2 systems"),
    (2, ["compare-runs", "good.txt", "--model", "model.rlm", "--model", "model.rlm"], "NAME=FILE"),
    (2, ["compare-runs", "good.txt", "--model", "model.rlm", "--test", "sign"], "unknown test"),
    (2, ["compare-runs", "good.txt", "--model", "model.rlm", "--level", "2"], "between 0 and 1"),
    (
        2,
        ["compare-runs", "good.txt", "--model", "model.rlm", "--baseline", "b"],
        "unknown baseline",
    ),
    (2, ["convert", "good.txt"], "Missing argument"),
    (1, ["convert", "good.txt", "out.xls"], "cannot tell from the suffix '.xls'"),
    (1, ["convert", "good.txt", "out.jsonl"], "JSON lines are read, but not written"),
    (1, ["convert", "good.txt", "folder"], "folder"),
    (1, ["convert", "good.txt", "no/out.txt"], "no/out.txt"),
    (1, ["convert", "good.txt", "out.parquet.gz"], "compresses its content itself"),
    (1, ["convert", "shop.csv", "out.txt"], "LETOR text holds numbers only"),
    (2, ["convert", "good.txt", "out.parquet", "--sparse"], "--sparse is for LETOR text"),
    (2, ["convert", "good.txt", "out.txt", "--layout", "list"], "--layout is for Parquet"),
    (1, ["convert", "good.txt", "out.parquet", "--layout", "tall"], "layout must be"),
    (2, ["convert", "good.txt", "out.txt", "--to", "xls"], "unknown format 'xls'"),
    (1, ["convert", "apart.csv", "out.parquet"], "starts again"),
    (2, ["simulate", "seperable", "-o", "out.txt"], "did you mean 'separable'?"),
    (2, ["simulate", "separable"], "Missing option '--output'"),
    (2, ["simulate", "separable", "-o", "out.txt", "-p", "margin"], "name=number"),
    (2, ["simulate", "separable", "-o", "out.txt", "-p", "speed=1"], "no parameter 'speed'"),
    (2, ["simulate", "separable", "-o", "out.txt", "-q", "0"], "--queries"),
    (1, ["simulate", "separable", "-o", "out.txt", "-p", "margin=0"], "margin above"),
    (1, ["simulate", "separable", "-o", "out.xls"], "cannot tell from the suffix"),
    (2, ["reproduce", "nothing"], "unknown experiment 'nothing'"),
    (2, ["init", "good.txt", "-o", "odd.toml"], "exists already; give --force"),
    (
        1,
        ["train", "log.csv", "--click", "clicked", "-o", "out.rlm"],
        "who looked, which is not known",
    ),
    (1, ["convert", "log.csv", "out.parquet", "--label", "clicked"], "--include if"),
    (1, ["compare", "log.csv", "-r", "slam", "--click", "clicked"], "'Position', 'session_id'"),
    (1, ["train", "shop.csv", "-o", "out.rlm", "--sparse"], "--sparse is for LETOR text"),
    (1, ["train", "same.csv", "-o", "out.rlm", "-r", "slam"], "every grade is 1, so Slam cannot"),
    (1, ["train", "single.csv", "-o", "out.rlm"], "each query has only one judged document"),
    (
        1,
        ["train", "whole.parquet", "-o", "out.rlm", "--skip-bad-rows"],
        "--skip-bad-rows is for text",
    ),
    (
        1,
        ["train", "shop.csv", "-o", "out.rlm", "--label", "brand"],
        "'a'; a label must be a number",
    ),
    (2, ["train", "good.txt", "-o", "out.rlm", "-r", "xendcg:rate=1"], "online-xendcg has it"),
    (2, ["train", "good.txt", "-o", "out.rlm", "-r", "slam:rte=1"], "did you mean 'rate'?"),
    (1, ["stream", "good.txt", "-r", "xendcg"], "did you mean 'online-xendcg'?"),
    (1, ["train", "good.txt", "-o", "out.rlm", "--import", "none.py"], "there is no file none.py"),
    (1, ["inspect", "good.txt", "--drop", "x"], "--drop is for tables"),
    (1, ["inspect", "good.txt", "--category", "x"], "--category is for tables"),
]

CASES = [
    *(
        (1, _args, said)
        for (place, said), command in itertools.product(INPUTS.items(), READERS)
        for _args in [[part.replace("{}", place) for part in READERS[command]]]
    ),
    *(
        (2, [*(part.replace("{}", "good.txt") for part in READERS[command]), *options], said)
        for command, (options, said) in itertools.product(READERS, USAGE.values())
    ),
    *OTHERS,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make all files once; every case must leave them as they are."""
    folder = tmp_path_factory.mktemp("misuse")
    texts = {
        "good.txt": GOOD,
        "wide.txt": "1 qid:1 1:1 2:2 3:3\n0 qid:1 1:0\n",
        "empty.txt": "",
        "bad.txt": "1 qid:1 1:1\n1 qid:1 1:x\n",
        "plain.txt": "1 1:1\n",
        "one.txt": "1\n",
        "empty.csv": "",
        "header.csv": "qid,label,x\n",
        "numbers.csv": "1,2,3\n4,5,6\n",
        "ragged.csv": "qid,label,x\n1,2\n",
        "noquery.csv": "label,x\n1,2\n",
        "nolabel.csv": "qid,1,2\n1,2,3\n1,3,4\n",
        "twice.csv": "qid,label,x,x\n1,2,3,4\n",
        "inf.csv": "qid,label,x\n1,2,1e39\n",
        "apart.csv": "qid,label,x\n1,1,1\n2,1,1\n1,0,1\n",
        "shop.csv": "qid,label,x,brand\n1,1,1.5,a\n1,0,2.5,b\n2,1,0.5,a\n2,0,1.5,\n",
        "renamed.csv": "qid,width,brand\n1,1.5,a\n",
        "typed.csv": "qid,x,brand\n1,wide,a\n",
        "ids.csv": "qid,label,url\n" + "".join(f"{k % 9},1,u{k}\n" for k in range(300)),
        "log.csv": "qid,Position,session_id,clicked,price\n1,1,7,1,2.5\n1,2,7,0,3\n",
        "same.csv": "qid,label,x\n1,1,1\n1,1,2\n2,1,1\n2,1,5\n",
        "single.csv": "qid,label,x\n1,1,1\n2,0,2\n3,1,1\n",
        "bad.jsonl": '{"qid": 1\n',
        "bad.toml": "[data\n",
        "odd.toml": "[data]\nlable = 'x'\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    pd.DataFrame({"qid": [1], "label": [1], "x": [0.5]}).to_parquet(folder / "cut.parquet")
    whole = (folder / "cut.parquet").read_bytes()
    (folder / "whole.parquet").write_bytes(whole)
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "folder").mkdir()
    rl.NewtonXENDCG().fit(rl.read(folder / "good.txt")).save(folder / "model.rlm")
    rl.rankers.Described().fit(rl.read(folder / "shop.csv")).save(folder / "shop.rlm")
    return folder


def contents(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.is_file()}


def test_there_are_many():
    assert len(CASES) >= 200
    assert len({tuple(args) for _, args, _ in CASES}) == len(CASES)


@pytest.mark.matrix
@pytest.mark.parametrize(("code", "args", "said"), CASES, ids=lambda v: None)
def test_misuse(run, folder, monkeypatch, code, args, said):
    monkeypatch.chdir(folder)
    before = contents(folder)
    outcome = run(*args)
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    assert "Traceback" not in outcome.err
    assert said in (outcome.err if code == 1 else outcome.complaint)
    if code == 1:
        *notes, last = outcome.err.splitlines()
        assert last.startswith("error: ")
        assert all(note.startswith(("columns: ", "warning: ")) for note in notes)
    assert contents(folder) == before


def test_the_advice_about_missing_values_is_a_command_that_works(run, ok, tmp_path):
    lines = [f"{k // 4},{k % 2},{k}.5" for k in range(40)]
    lines[7] = '1,1,"12,50 EUR"'
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(["qid,label,price", *lines]))
    advice = run("inspect", path).complaint
    assert "pass --missing '12,50 EUR' if" in advice
    given = ok("inspect", path, "--missing", "12,50 EUR", "--missing", "sold out")
    assert "1 value is missing ('12,50 EUR')" in given.err
    tuned = ok(
        "tune", path, "-r", "slam", "--trials", "1", "--folds", "2", "--missing", "12,50 EUR"
    )
    assert "--missing '12,50 EUR'" in tuned.out + tuned.err
