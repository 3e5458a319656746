"""What the README shows runs when it is copied."""

from __future__ import annotations

import json
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


def run_commands(folder: Path, commands: str) -> set[str]:
    """Return the names of the files that there are then."""
    program = "from rankloop.cli import main; main()"
    for line in commands.splitlines():
        _, *words = line.partition("#")[0].split()
        if words[0] != "serve":  # it runs until it is stopped; the tutorial starts a service
            run(folder, "-c", program, *words)
    return {path.name for path in folder.iterdir()}


def test_command_line(tmp_path):
    commands, _ = (code for code in blocks("") if code.startswith("rankloop "))
    assert {"model.rlm", "report.html"} <= run_commands(tmp_path, commands)


def test_command_line_of_a_catalogue(tmp_path):
    _, commands = (code for code in blocks("") if code.startswith("rankloop "))
    brands = ["acme", "apex", "bolt"]
    rows = [f"i{k},{brands[k % 3]},{k}.50" for k in range(9)]
    (tmp_path / "items.csv").write_text("\n".join(["id,brand,price", *rows]))
    lines = []
    for n in range(30):
        items = [f"i{(n + k) % 9}" for k in range(3)]
        at = 1_700_000_000 + 100 * n
        lines.append({"ranking_id": f"r{n}", "items": items, "timestamp": at})
        click = {"ranking_id": f"r{n}", "item": items[n % 3], "type": "click", "timestamp": at + 9}
        lines.append(click)
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert {"shop.toml", "shop.journal"} <= run_commands(tmp_path, commands)
