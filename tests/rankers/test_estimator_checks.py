"""Rankers pass scikit-learn's own checks, but for those that cannot hold for ranking."""

from __future__ import annotations

import pytest

from rankloop.rankers.registry import make_ranker, ranker_names

from .estimator_checks import ESTIMATORS, EXPECTED, every_check

CHECKS = list(every_check())


@pytest.mark.matrix
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check", "why"), CHECKS)
def test_check(estimator, check, why):
    if why is None:
        check(estimator)
        return
    with pytest.raises((AssertionError, TypeError, ValueError)):
        check(estimator)
    pytest.xfail(why)  # told here, as the traces of the checks themselves take long to make


def test_the_list_of_expected_failures_is_short_and_about_checks_that_run():
    expected = [
        (name, check) for checks, names, _ in EXPECTED for name in names for check in checks
    ]
    ran = {param.id for param in CHECKS}
    assert {name for name, _ in expected} <= set(ESTIMATORS)
    assert {f"{name}-{check}" for name, check in expected} <= ran
    assert len(expected) == len(set(expected)) < 60


def test_scores_that_look_at_the_whole_query_are_all_of_these():
    (relative,) = [names for checks, names, _ in EXPECTED if "subset_invariance" in checks[0]]
    assert {
        name for name in ranker_names() if not make_ranker(name).traits.scores_rows_alone
    } == set(relative)
