"""0: fine; 1: data that cannot be used, in one line; 2: a command that cannot be understood."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from rankloop.cli import app

COMMANDS = [
    "inspect",
    "compare",
    "tune",
    "explain",
    "evaluate",
    "compare-runs",
    "convert",
    "split",
    "simulate",
]
RANKLOOP = [sys.executable, "-c", "from rankloop.cli import main; main()"]


def test_help(ok):
    text = ok("--help").out
    assert all(command in text for command in COMMANDS)
    assert ok("-h").out == text


@pytest.mark.parametrize("name", app.COMMANDS)
def test_a_line_of_the_list_is_the_first_line_of_the_help(name):
    built, line = app._build(name), app.COMMANDS[name][1]
    assert built.help.split("\n\n")[0].replace("\n", " ") == line


def test_the_list_imports_no_command():
    code = """
import sys
import rankloop.cli.app
assert not {"rankloop.cli.train", "rankloop.cli.options", "rich", "numpy"} & {*sys.modules}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(ok, command):
    text = ok(command, "--help").out
    assert f"Usage: rankloop {command} " in text
    assert "--json" in text
    assert ok(command, "-h").out == text


def test_version(ok):
    assert ok("--version").out == f"rankloop {version('rankloop')}\n"


def test_no_command_shows_help(run):
    outcome = run()
    assert outcome.code == 2
    assert "Usage: rankloop" in outcome.out + outcome.err


BAD_ROW = "1 qid:1 1:1\n1 qid:1 1:x\n"
CASES = {
    "no such file": (["inspect", "nothing.txt"], "nothing.txt: cannot read it: No such file"),
    "empty file": (["inspect", "empty.txt"], "empty.txt: the file is empty"),
    "bad row": (["inspect", "bad.txt"], "bad.txt:2: "),
    "not text": (["inspect", "picture.png"], "picture.png:1: "),
    "no query ids": (["inspect", "plain.txt"], "plain.txt: no row has a query id"),
    "no data in a folder": (["inspect", "folder"], "folder: the folder contains no data files"),
    "not a parquet file": (["inspect", "good.txt", "--format", "parquet"], "good.txt: "),
    "too few scores": (["evaluate", "good.txt", "--scores", "one.txt"], "1 scores, but the data"),
    "no number": (["evaluate", "good.txt", "--scores", "good.txt"], "good.txt:1: found"),
    "not a run": (
        ["evaluate", "good.txt", "--run", "one.txt"],
        "one.txt:1: found 1 field; expected 6",
    ),
    "no common query": (["evaluate", "good.txt", "--run", "far.run"], "quer"),
    "ties by id": (["evaluate", "good.txt", "--scores", "two.txt", "-c", "trec_eval"], "add ids"),
    "grade too high": (["evaluate", "good.txt", "--scores", "two.txt", "-m", "ERR(max=1)"], "ERR"),
    "one ranking": (["compare-runs", "good.txt", "--scores", "two.txt"], "at least 2 systems"),
    "missing source": (["convert", "nothing.txt", "out.txt"], "nothing.txt: cannot read it"),
    "target a folder": (["convert", "good.txt", "folder"], "it is a folder"),
    "target nowhere": (["convert", "good.txt", "no/where.txt"], "no/where.txt: "),
    "layout": (["convert", "good.txt", "a.parquet", "--layout", "x"], "layout must be"),
    "simulated value": (["simulate", "separable", "-o", "a.txt", "-p", "margin=0"], "margin above"),
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = {
        "good.txt": "2 qid:1 1:1\n0 qid:1 1:2\n",
        "empty.txt": "",
        "bad.txt": BAD_ROW,
        "plain.txt": "1 1:1\n",
        "one.txt": "1\n",
        "two.txt": "1\n2\n",
        "far.run": "elsewhere Q0 0 1 1 tag\n",
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (tmp_path / "folder").mkdir()
    return {*contents, "picture.png", "folder"}


@pytest.mark.parametrize("case", CASES)
def test_bad_data_ends_in_one_line(run, files, tmp_path, case):
    args, complaint = CASES[case]
    outcome = run(*args)
    assert outcome.code == 1
    assert outcome.out == ""
    (line,) = outcome.err.splitlines()
    assert line.startswith("error: ")
    assert complaint in line
    assert {path.name for path in tmp_path.iterdir()} == files  # nothing was written


USAGE = {
    "unknown command": (["learn"], "No such command 'learn'"),
    "unknown option": (["inspect", "a.txt", "--fast"], "No such option"),
    "no data": (["inspect"], "Missing argument 'DATA"),
    "no target": (["convert", "a.txt"], "Missing argument"),
    "no output": (["simulate", "separable"], "Missing option '--output'"),
    "no ranking": (["evaluate", "good.txt"], "give one ranking: --scores FILE"),
    "two rankings": (
        ["evaluate", "good.txt", "--scores", "a", "--run", "b"],
        "give one ranking: --scores",
    ),
    "not a number": (["inspect", "good.txt", "--null", "x"], "--null"),
    "unknown format": (["inspect", "good.txt", "--format", "xls"], "unknown format 'xls'; known:"),
    "suffix of a picture": (["inspect", "good.txt", "--plot", "a.jpg"], "found the suffix '.jpg'"),
    "measure": (["evaluate", "good.txt", "--scores", "two.txt", "-m", "best"], "unknown measure"),
    "cutoff": (["evaluate", "good.txt", "--scores", "two.txt", "-m", "P@0"], "at least 1"),
    "convention": (["evaluate", "good.txt", "--scores", "two.txt", "-c", "x"], "unknown convent"),
    "unknown target format": (["convert", "good.txt", "a.txt", "--to", "xls"], "unknown format"),
    "unknown simulator": (["simulate", "x", "-o", "a.txt"], "unknown simulator 'x'; known:"),
}


@pytest.mark.parametrize("case", USAGE)
def test_bad_usage(run, files, case):
    args, complaint = USAGE[case]
    outcome = run(*args)
    assert outcome.code == 2
    assert outcome.out == ""
    assert complaint in outcome.complaint


def test_a_failed_plot_leaves_the_old_one(run, files, tmp_path):
    picture = tmp_path / "old.png"
    picture.write_text("precious")
    assert run("inspect", "bad.txt", "--plot", picture).code == 1
    assert picture.read_text() == "precious"


class TestProcess:
    """The same from outside, as a process of its own."""

    def test_fine(self, files):
        done = subprocess.run([*RANKLOOP, "inspect", "good.txt"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert "documents" in done.stdout

    def test_bad_data(self, files):
        done = subprocess.run([*RANKLOOP, "inspect", "bad.txt"], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("error: bad.txt:2: ")
        assert len(done.stderr.splitlines()) == 1

    def test_warnings_are_one_line(self, files):
        command = [*RANKLOOP, "convert", "bad.txt", "-", "--skip-bad-rows"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "1 qid:1 1:1\n")
        assert "warning: bad.txt: 1 bad row" in done.stderr
        assert "site-packages" not in done.stderr
        assert "letor.py" not in done.stderr

    @pytest.mark.slow
    def test_the_reader_may_leave_early(self, simulated):
        with subprocess.Popen(
            [*RANKLOOP, "convert", str(simulated), "-", "--n-features", "2000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout.readline().endswith(b" 2000:0\n")
            process.stdout.close()
            complaint = process.stderr.read()
        assert b"Traceback" not in complaint
        assert process.returncode == 0
