"""What the pages show of the command line is what it prints.

RANKLOOP_UPDATE_DOCS=1 pytest tests/cli/test_docs.py brings the pages up to date instead.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [page for page in sorted(DOCS.glob("*.md")) if "```console" in page.read_text()]
BLOCK = re.compile(r"```console\n(.*?)```\n", re.DOTALL)


def replayed(page, folder):
    """The page with every `$ command` run again and followed by what it prints now."""
    (folder / "bin").mkdir()
    script = folder / "bin" / "rankloop"
    script.write_text(f"#!{sys.executable}\nfrom rankloop.cli import main\nmain()\n")
    script.chmod(0o755)
    work = folder / "work"
    work.mkdir()
    settings = {**os.environ, "PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}
    settings.pop("FORCE_COLOR", None)

    def replay(block):
        shown = []
        for line in block[1].splitlines():
            if line.startswith("$ "):
                done = subprocess.run(
                    ["bash", "-c", f"set -eo pipefail; {line[2:]}"],
                    cwd=work,
                    env=settings,
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, f"{line}\n{done.stderr}"
                printed = re.sub(r" +$", "", done.stdout, flags=re.MULTILINE).strip("\n")
                shown += [line, re.sub(r"\n{2,}", "\n\n", printed)] if printed else [line]
        return "```console\n" + "\n".join(shown) + "\n```\n"

    return BLOCK.sub(replay, page.read_text())


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shown_output(page, tmp_path):
    now = replayed(page, tmp_path)
    if os.environ.get("RANKLOOP_UPDATE_DOCS"):
        page.write_text(now)
    assert page.read_text() == now


def test_there_is_something_to_show():
    assert "command-line.md" in [page.name for page in PAGES]
