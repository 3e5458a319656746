"""Whole commands: arguments in, exit code and output out."""

from __future__ import annotations

import functools
import io
import json
import re
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import typer.main

from rankloop.cli import main

from ..shown import LOOKS

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit code and what it printed, as bytes."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self):
        return self.stdout.decode()

    @property
    def err(self):
        return self.stderr.decode()

    @property
    def json(self):
        return json.loads(self.stdout)

    @property
    def cells(self):
        """The rows of the tables it printed, as lists of words."""
        return [line.split() for line in self.out.splitlines() if line.strip(" ─")]

    @property
    def complaint(self):
        """What a usage error says, out of its box and on one line."""
        return " ".join(re.sub(r"\x1b\[[0-9;]*m|[╭╮╰╯│─]", " ", self.err).split())


@pytest.fixture(scope="session", autouse=True)
def _commands_are_built_once():
    """Typer reads the signatures of all commands whenever one is called: most of what it costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture
def run(monkeypatch, capsysbinary):
    """Run `rankloop ARGS...` in this process."""
    for name in LOOKS:
        monkeypatch.delenv(name, raising=False)

    def call(*args, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["rankloop", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsysbinary.readouterr()
        code = 0
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # a command shows warnings; it does not raise them
            try:
                main()
            except SystemExit as end:
                code = end.code or 0
        return Outcome(code, *capsysbinary.readouterr())

    return call


@pytest.fixture
def ok(run):
    """Run a command that must succeed."""

    def call(*args, stdin=b""):
        outcome = run(*args, stdin=stdin)
        assert outcome.code == 0, outcome.err
        return outcome

    return call


JUMBLED = b"""\
2 qid:7 1:0.5 2:0 #docid = a
0 qid:3 1:0.25 2:1 #docid = b
0 qid:7 1:0.125 2:2 #docid = c
1 qid:3 1:0 2:3 #docid = d
1 qid:7 1:1 2:4 #docid = e
"""


@pytest.fixture
def jumbled(tmp_path) -> Path:
    """Two queries whose rows alternate: grades 2, 0, 1 of query 7, and 0, 1 of query 3."""
    path = tmp_path / "jumbled.txt"
    path.write_bytes(JUMBLED)
    return path


@pytest.fixture
def scores(tmp_path) -> Path:
    """Scores of the jumbled rows: query 7 is ranked 1, 0, 2 and query 3 is ranked 0, 1."""
    path = tmp_path / "scores.txt"
    path.write_text("1\n5\n2\n4\n3\n")
    return path


@pytest.fixture
def simulated(ok, tmp_path) -> Path:
    """Forty queries of about 15 documents with 8 features, as text."""
    path = tmp_path / "simulated.txt"
    options = ("-p", "n_features=8", "-p", "mean_length=15")
    ok("simulate", "mslr-like", "-o", path, "-q", 40, *options)
    return path
