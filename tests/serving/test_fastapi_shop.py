"""The shop on FastAPI: customers search through it, and the loop learns what they buy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "fastapi_shop.py"


@pytest.mark.slow
def test_the_shop_sells(tmp_path):
    pytest.importorskip("fastapi", reason="the example needs FastAPI")
    command = [sys.executable, "-W", "error", str(EXAMPLE), "--searches", "40"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"\d+%", done.stdout)) == 4
