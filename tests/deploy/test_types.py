"""The types of the package, as the two type checkers of its users see them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

USER = Path(__file__).with_name("user.py")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What mypy keeps between two runs: the types of the whole package."""
    return tmp_path_factory.mktemp("mypy")


def check(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)


def test_mypy(cache):
    checked = check("mypy", "--strict", "--config-file=", f"--cache-dir={cache}", str(USER))
    assert checked.returncode == 0, checked.stdout


def test_pyright(tmp_path):
    settings = {"include": [str(USER)], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    checked = check("basedpyright", "--project", str(tmp_path), "--pythonpath", sys.executable)
    assert checked.returncode == 0, checked.stdout


def test_a_mistake_is_found(tmp_path, cache):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import rankloop as rl\nrl.Slam(rate='fast', speed=3)\n")
    checked = check("mypy", "--strict", "--config-file=", f"--cache-dir={cache}", str(wrong))
    assert checked.returncode == 1
    assert '"rate"' in checked.stdout
    assert '"speed"' in checked.stdout
