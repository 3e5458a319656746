"""Every command that takes a path names one that it cannot use, on one line."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli.app import app

DATA = "".join(f"{k % 3} qid:{q} 1:{k} 2:{q}\n" for q in range(1, 9) for k in range(4))
CATALOGUE = """[loops.shop.fields.item]
price = "number"
[loops.shop.features]
price = { number = "item.price" }
"""
LOG = "".join(
    json.dumps(line) + "\n"
    for line in (
        {"event": "ranking", "id": "r", "timestamp": "1", "items": [{"id": "a"}, {"id": "b"}]},
        {
            "event": "interaction",
            "id": "e",
            "ranking": "r",
            "timestamp": "2",
            "type": "click",
            "item": "a",
        },
    )
)

READS = """
train {} -o out.rlm
train data.txt -o out.rlm --from {}
train data.txt -o out.rlm --valid {}
train data.txt -o out.rlm --config {}
train data.txt -o out.rlm --import {}.py
score {} data.txt
score model.rlm {}
compare {} -r slam
tune {} -r slam --trials 1
stream {} -r slam
inspect {}
explain {}
explain model.rlm {}
evaluate {} --model model.rlm
evaluate data.txt --model {}
evaluate data.txt --scores {}
evaluate data.txt --run {}
compare-runs data.txt --scores a={} --model b=model.rlm
compare-runs data.txt --run a={} --model b=model.rlm
compare-runs data.txt --model a={} --model b=model.rlm
convert {} out.parquet
init {} -o out.toml
init --items {} --events log.jsonl -o out.toml
init --items items.csv --events {} -o out.toml
features {} -c shop.toml -o out.parquet
features log.jsonl -c {} -o out.parquet
features log.jsonl -c shop.toml --items {} -o out.parquet
split {} -o out
export {} --to c -o out.c
export model.rlm --to c -o out.c --verify {}
import {} -o out.rlm
serve {}
serve --features 2 --model {} --check
clicks inspect {}
clicks fit {}
clicks fit clicks.csv --test {}
clicks judge {} -o out.csv
clicks evaluate {} --score x --examination 1,0.5
clicks train {} -o out.rlm
clicks train clicks.csv -o out.rlm --items {}
clicks simulate {} -o out.csv
journal stats {}
journal verify {}
journal replay {}
journal export {} out.txt
journal clicks {} out.csv
journal clicks j out.csv --model {}
journal clicks j out.csv --master-key-file {}
journal import j {}
journal import j data.txt --config {}
journal import j log.jsonl --config shop.toml --items {}
journal backfill {}
journal compact {} out.parquet
journal recompute j {} -c shop.toml
journal recompute j out.parquet -c {}
journal backup {} copy
journal restore {} new
journal quarantine {} 2
journal retry {} 2
journal actions {}
journal personal {}
journal personal j --master-key-file {}
journal forget {} --user u
models add tree {}
"""
"""Commands that read: none may end in a traceback, whatever the path is."""

WRITES = """
train data.txt -o {}
score model.rlm data.txt -o {}
compare data.txt -r slam --folds 3 --report {}.md
compare data.txt -r slam --folds 3 --plot {}.png
tune data.txt -r slam --trials 1 --folds 2 --storage {}
convert data.txt {} --to letor
init data.txt -o {} --force
features log.jsonl -c shop.toml -o {}.parquet
export model.rlm --to c -o {}
simulate separable -o {}.csv -q 2
stream data.txt -r slam --plot {}.png
clicks judge clicks.csv -o {}.csv
clicks train clicks.csv -o {}
clicks simulate data.txt -o {}.csv
journal export j {}
journal clicks j {}.csv
journal compact j {}.parquet
journal backup j {}
journal restore j {}
serve {} --init --features 2
"""
"""Commands that write a file."""

FOLDERS = """
split data.txt -o {}
compare data.txt -r slam --folds 3 --resume {}
"""
"""Commands that write into a folder."""


BAD_FILES = ("missing", "folder", "data.txt/below", "circle")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make all files once; every command must leave them as they are."""
    folder = tmp_path_factory.mktemp("paths")
    texts = {
        "data.txt": DATA,
        "shop.toml": CATALOGUE,
        "log.jsonl": LOG,
        "items.csv": "id,price\na,1.5\nb,2\n",
        "clicks.csv": "page,query,document,position,clicked,price\n1,q,a,1,1,3\n1,q,b,2,0,2\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    for name in ("folder", "folder.csv", "folder.png", "folder.md", "folder.parquet"):
        (folder / name).mkdir()
    (folder / "circle").symlink_to("circle")
    journal = f'[loops.shop]\njournal = "{folder}/j"\n'
    (folder / "served.toml").write_text(journal + CATALOGUE)
    words = ["journal", "import", folder / "j", folder / "log.jsonl", "--config"]
    done = CliRunner().invoke(app, [*map(str, words), str(folder / "served.toml")])
    assert done.exit_code == 0, done.output
    rl.NewtonXENDCG().fit(rl.read(folder / "data.txt")).save(folder / "model.rlm")
    return folder


@pytest.fixture
def fails(run, folder, monkeypatch):
    """Run a command that must fail on one line which names a path, and change nothing."""
    monkeypatch.chdir(folder)
    before = _contents(folder)

    def call(command, path):
        outcome = run(*(part.replace("{}", path) for part in command.split()))
        assert outcome.code in (1, 2), outcome
        assert outcome.out == ""
        if outcome.code == 1:
            *notes, last = outcome.err.splitlines()
            assert last.startswith("error: "), outcome.err
            assert not [note for note in notes if not note.startswith(("columns: ", "warning: "))]
        assert path.partition("/")[0] in outcome.complaint
        assert _contents(folder) == before

    return call


def _contents(folder):
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name[0] != "j"}


@pytest.mark.matrix
@pytest.mark.parametrize("path", BAD_FILES)
@pytest.mark.parametrize("command", READS.strip().splitlines())
def test_a_file_that_cannot_be_read(fails, command, path):
    fails(command, path)


@pytest.mark.parametrize("path", ["folder", "data.txt/below", "circle/below"])
@pytest.mark.parametrize("command", WRITES.strip().splitlines())
def test_a_file_that_cannot_be_written(fails, command, path):
    fails(command, path)


@pytest.mark.parametrize("path", ["data.txt", "data.txt/below", "circle"])
@pytest.mark.parametrize("command", FOLDERS.strip().splitlines())
def test_a_folder_that_is_a_file(fails, command, path):
    fails(command, path)
