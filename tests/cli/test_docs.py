"""What the pages show of the command line is what it prints, floats up to their last digit.

RANKLOOP_UPDATE_DOCS=1 pytest tests/cli/test_docs.py brings the pages up to date instead.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..shown import plain_environment, settled

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [
    page for page in sorted(DOCS.glob("*.md")) if "```console" in page.read_text(encoding="utf-8")
]
BLOCK = re.compile(r"```console\n(.*?)```\n", re.DOTALL)


def replayed(page, folder):
    """The page with every `$ command` run again, followed by what it prints now."""
    (folder / "bin").mkdir()
    script = folder / "bin" / "rankloop"
    script.write_text(f"#!{sys.executable}\nfrom rankloop.cli import main\nmain()\n")
    script.chmod(0o755)
    work = folder / "work"
    work.mkdir()
    settings = plain_environment()
    settings["PATH"] = f"{script.parent}{os.pathsep}{settings['PATH']}"

    def replay(block):
        _, *pieces = re.split(r"^(\$ .*\n)", block[1], flags=re.MULTILINE)
        shown = "".join(
            command + settled(output, printed_by(command, work, settings))
            for command, output in zip(pieces[::2], pieces[1::2], strict=True)
        )
        return f"```console\n{shown}```\n"

    return BLOCK.sub(replay, page.read_text(encoding="utf-8"))


def printed_by(command, folder, settings):
    """What a command prints, without blank lines at its ends and more than one between."""
    done = subprocess.run(
        ["bash", "-c", f"set -eo pipefail; {command.removeprefix('$ ')}"],
        cwd=folder,
        env=settings,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}{done.stderr}"
    printed = re.sub(r" +$", "", done.stdout, flags=re.MULTILINE).strip("\n")
    return re.sub(r"\n{2,}", "\n\n", printed) + "\n" if printed else ""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shown_output(page, tmp_path):
    now = replayed(page, tmp_path)
    if os.environ.get("RANKLOOP_UPDATE_DOCS"):
        page.write_text(now, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == now


def test_there_is_something_to_show():
    assert "command-line.md" in [page.name for page in PAGES]
