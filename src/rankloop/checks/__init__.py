"""Checks that every measure, loss and learner must pass; they ship with the package.

Run them on your own losses and learners with ``check(MyLoss())``, or one by one in a test::

    @pytest.mark.parametrize(("subject", "check"), rankloop.checks.all_checks())
    def test_contract(subject, check):
        check(subject)

A check is a function of one argument whose name starts with ``check_``; it raises an
AssertionError that says what was expected. Measures, losses and learners of the package are found
automatically, so a new one is checked without being listed anywhere.
"""

from rankloop.checks.contracts import Learner, OnlineLearner
from rankloop.checks.discovery import all_checks, check, checks_for, discover
from rankloop.losses.base import Loss

__all__ = ["Learner", "Loss", "OnlineLearner", "all_checks", "check", "checks_for", "discover"]
