"""What the README shows runs when it is copied."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .shown import plain_environment

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCK = re.compile(r"```(\w*)\n(.*?)```\n", re.DOTALL)


def blocks(language: str) -> list[str]:
    text = README.read_text(encoding="utf-8")
    return [code for kind, code in BLOCK.findall(text) if kind == language]


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python(tmp_path):
    (code,) = blocks("python")
    shown = run(tmp_path, "-W", "error", "-c", code)
    assert re.search(r"nDCG@10 +standard +0\.[6-9]", shown), shown


def test_command_line(tmp_path):
    (commands,) = (code for code in blocks("") if code.startswith("rankloop "))
    program = "from rankloop.cli import main; main()"
    for line in commands.splitlines():
        _, *words = line.partition("#")[0].split()
        if words[0] != "serve":  # it runs until it is stopped; the tutorial starts a service
            run(tmp_path, "-c", program, *words)
    assert {"model.rlm", "report.html"} <= {path.name for path in tmp_path.iterdir()}
