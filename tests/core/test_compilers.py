"""The kernels compile without a warning and compute the same bits by every compiler we know of."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "cpp"
FLAGS = [
    *("-std=c++20", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-pthread"),
]


def needed(program, package):
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed (Debian: {package})")
    return found


def digests(compiler, folder, *flags, run=()):
    program = folder / "digests"
    command = [compiler, *FLAGS, *flags, f"-I{SOURCES}", str(SOURCES / "check/digests.cpp")]
    subprocess.run([*command, "-o", str(program)], check=True)
    return subprocess.run([*run, str(program)], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def plainly(tmp_path_factory):
    """Without vectors: the order of sums does not depend on how far an optimiser goes."""
    flags = ("-O1", "-DRANKLOOP_NO_CLONES")
    found = digests(needed("g++", "g++"), tmp_path_factory.mktemp("gcc"), *flags)
    assert len(found.splitlines()) == 2 + 3 * 26
    return found


@pytest.mark.slow
def test_gcc(plainly, tmp_path):
    assert digests(needed("g++", "g++"), tmp_path, "-O2") == plainly


@pytest.mark.slow
def test_clang(plainly, tmp_path):
    assert digests(needed("clang++", "clang"), tmp_path, "-O2") == plainly


@pytest.mark.slow
def test_another_kind_of_processor(plainly, tmp_path):
    compiler = needed("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")
    emulator = needed("qemu-aarch64", "qemu-user")
    assert digests(compiler, tmp_path, "-static", "-O2", run=[emulator]) == plainly
