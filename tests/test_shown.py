"""The comparison of shown output lets last digits differ, and nothing else."""

from __future__ import annotations

import doctest
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .shown import FLOAT, ShownOutput, agree, settled

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("text", "floats"),
    [
        ("nDCG@10 of 0.4312, 12 queries", ["0.4312"]),
        ("array([ 1.  , -2.5 , 3e-05])", ["1.", "-2.5", "3e-05"]),
        ("1:0.5 2:.25", ["0.5", ".25"]),
        ("It is 0.5. Then 2.5e+10", ["0.5", "2.5e+10"]),
        ("rbf(0.5)*linear x-3.5 [+1.25]", ["0.5", "3.5", "+1.25"]),
        ("1.2.3 v1.2 2026-01-01 12 1e 0x1e5 a.5", []),
    ],
)
def test_what_a_float_is(text, floats):
    assert FLOAT.findall(text) == floats


SAME = [
    ("0.4312", "0.4313"),  # one unit of the last digit
    ("-1.000", "-0.999"),
    ("0.06978475313", "0.06978475315"),
    ("0.3", "0.30000000000000004"),  # in full: all digits there are
    ("0.123456789", "0.123456712"),  # single precision
    ("1.234e-05", "1.235e-05"),
    ("0.00", "-0.00"),
    ("0.43127", "0.431271"),  # rounded to six places, a zero left out
]
OTHER = [
    ("0.4312", "0.4314"),
    ("0.4312", "-0.4312"),
    ("0.5", "0.6"),  # a digit or two say too little to be off by one
    ("0.50", "0.51"),
    ("0.5", "0.50"),  # another format
    ("0.500", "0.5"),
    ("0.06978475313", "0.06978575313"),
    ("1.234e-05", "1.234e-06"),
    ("0.0", "1e-17"),  # noise is nothing to show
    ("0.5", "0.49999"),
]


@pytest.mark.parametrize(("shown", "printed"), SAME)
def test_floats_that_agree(shown, printed):
    assert agree(shown, printed)
    assert agree(printed, shown)
    assert settled(f"a {shown}, b", f"a {printed}, b") == f"a {shown}, b"


@pytest.mark.parametrize(("shown", "printed"), OTHER)
def test_floats_that_do_not(shown, printed):
    assert not agree(shown, printed)
    assert not agree(printed, shown)
    assert settled(f"a {shown}, b", f"a {printed}, b") == f"a {printed}, b"


@given(st.decimals(-1000, 1000, places=4), st.integers(-3, 3))
def test_one_unit_and_no_more(number, units):
    moved = number + units * Decimal("0.0001")
    few = max(len(x.as_tuple().digits) for x in (number, moved)) < 3
    allowed = 0 if few else max(Decimal("0.0001"), max(abs(number), abs(moved)) / 10**6)
    assert agree(f"{number:f}", f"{moved:f}") == (abs(moved - number) <= allowed)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e-7, 1e-7))
def test_floats_in_full_agree_to_a_millionth(number, relative):
    moved = number * (1 + relative)
    if "e" not in f"{number}{moved}" and min(len(repr(abs(x))) for x in (number, moved)) > 8:
        assert settled(repr(number), repr(moved)) == repr(number)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("3 queries, 0.4312", "4 queries, 0.4313"),
        ("nDCG 0.4312", "ndcg 0.4313"),
        ("0.4312", " 0.4313"),
        ("0.4312 0.2500", "0.4313"),
        ("0.4312", "0.4313\n"),
    ],
)
def test_all_else_is_compared_as_text(shown, printed):
    assert settled(shown, printed) != shown


def test_examples_in_docstrings():
    checker = ShownOutput()
    assert checker.check_output("array([0.4312])\n", "array([0.4313])\n", 0)
    assert not checker.check_output("array([0.4312])\n", "array([0.4314])\n", 0)
    assert not checker.check_output("4\n", "5\n", 0)
    assert checker.check_output("... 0.4312\n", "loss 0.4313\n", doctest.ELLIPSIS)


@pytest.mark.slow
@pytest.mark.parametrize(("shown", "passed"), [("0.3333333331", 1), ("0.3334", 0)])
def test_pytest_compares_examples_so(tmp_path, shown, passed):
    page = tmp_path / "page.md"
    page.write_text(f">>> 1 / 3\n{shown}\n")
    command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "-p", "conftest"]
    done = subprocess.run([*command, "-q", page], cwd=REPOSITORY, capture_output=True, text=True)
    assert ("1 passed" if passed else "1 failed") in done.stdout
