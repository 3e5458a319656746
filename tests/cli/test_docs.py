"""What the pages show of the command line is what it prints, floats up to their last digit.

RANKLOOP_UPDATE_DOCS=1 pytest tests/cli/test_docs.py brings the pages up to date instead.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ..shown import plain_environment, settled

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [
    page for page in sorted(DOCS.glob("*.md")) if "```console" in page.read_text(encoding="utf-8")
]
BLOCK = re.compile(r"```console\n(.*?)```\n", re.DOTALL)
FILE = re.compile(r'```\w+ title="([^"]+)"\n(.*?)```\n', re.DOTALL)
SLOW = ["clicks.md", "coming-from.md", "command-line.md", "serve.md", "tutorial.md"]
PORT = "8080"  # on the pages; here a free one


def replayed(page, folder):
    """The page with every `$ command` run again, followed by what it prints now.

    A block with a title is a file of that name. What a command leaves running ends with the page.
    """
    programs = folder / "bin"
    programs.mkdir()
    for name, script in {
        "rankloop": f"#!{sys.executable}\nfrom rankloop.cli import main\nmain()\n",
        "python": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
    }.items():
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    work = folder / "work"
    work.mkdir()
    settings = plain_environment()
    settings["PATH"] = f"{programs}{os.pathsep}{settings['PATH']}"
    port = free_port()
    settings |= {"RANKLOOP__SERVER__PORT": port, "RANKLOOP_URL": f"http://127.0.0.1:{port}"}
    text = page.read_text(encoding="utf-8")
    for name, content in FILE.findall(text):
        (work / name).write_text(content.replace(f":{PORT}", f":{port}"))
    groups = []

    def run(command):
        here = command.replace(f":{PORT}", f":{port}")
        return printed_by(here, work, settings, groups).replace(f":{port}", f":{PORT}")

    def replay(block):
        _, *pieces = re.split(r"^(\$ .*\n)", block[1], flags=re.MULTILINE)
        shown = "".join(
            command + settled(output, run(command))
            for command, output in zip(pieces[::2], pieces[1::2], strict=True)
        )
        return f"```console\n{shown}```\n"

    try:
        return BLOCK.sub(replay, text)
    finally:
        for group in groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return str(listening.getsockname()[1])


def printed_by(command, folder, settings, groups):
    """What a command prints, without blank lines at its ends and more than one between."""
    with subprocess.Popen(
        ["bash", "-c", f"set -eo pipefail; {command.removeprefix('$ ')}"],
        cwd=folder,
        env=settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        groups.append(process.pid)
        stdout, stderr = process.communicate()
    assert process.returncode == 0, f"{command}{stdout}{stderr}"
    printed = re.sub(r" +$", "", stdout, flags=re.MULTILINE).strip("\n")
    return re.sub(r"\n{2,}", "\n\n", printed) + "\n" if printed else ""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page.name in SLOW else ()) for page in PAGES],
    ids=[page.name for page in PAGES],
)
def test_shown_output(page, tmp_path):
    if "$ curl " in page.read_text(encoding="utf-8") and shutil.which("curl") is None:
        pytest.skip("needs curl")
    now = replayed(page, tmp_path)
    if os.environ.get("RANKLOOP_UPDATE_DOCS"):
        page.write_text(now, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == now


def test_there_is_something_to_show():
    assert "command-line.md" in [page.name for page in PAGES]
