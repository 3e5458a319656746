"""The help of every command names values in the usual words."""

import re

import pytest

from rankloop.cli.app import COMMANDS

WRONG = r"<(bool|str|int|float|path|list)"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_values_have_short_names_and_flags_none(ok, command):
    shown = ok(*([command] if command else []), "--help").out
    assert not re.search(WRONG, shown), shown
    data = "DATA..." in shown
    assert not data or ("[DATA" not in shown and "[required]" in shown)


def test_help_may_be_shown_many_times(ok):
    first = ok("--help").out
    for _ in range(50):
        assert ok("--help").out == first


def test_those_of_subcommands_too(ok):
    for words in (("journal", "import"), ("clicks", "fit")):
        assert not re.search(WRONG, ok(*words, "--help").out)
