"""Checks that every measure, loss and ranker must pass; they ship with the package.

Run them on your own losses and rankers with ``check(MyLoss())``, or one by one in a test::

    @pytest.mark.parametrize(("subject", "check"), rankloop.checks.all_checks())
    def test_contract(subject, check):
        check(subject)

A check is a function of one argument whose name starts with ``check_``; it raises an
AssertionError that says what was expected. Measures, losses and rankers of the package are found
automatically, so a new one is checked without being listed anywhere.
"""

from rankloop.checks.contracts import OnlineRankerLike, RankerLike
from rankloop.checks.discovery import all_checks, check, checks_for, discover
from rankloop.losses.base import Loss

__all__ = [
    "Loss",
    "OnlineRankerLike",
    "RankerLike",
    "all_checks",
    "check",
    "checks_for",
    "discover",
]
