"""Find what can be checked, and the checks that apply to it."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rankloop.checks import losses, measures, rankers
from rankloop.checks.contracts import OnlineRankerLike, RankerLike
from rankloop.losses.base import Loss, QueryLoss
from rankloop.measures.measure import FAMILIES, Measure
from rankloop.rankers.base import Ranker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Check = Callable[[object], None]


def discover() -> Iterator[object]:
    """Yield every measure, loss and ranker of the package, with default parameters."""
    for name, family in FAMILIES.items():
        yield Measure(name, 10 if family.takes_cutoff else None)
    for package in ("rankloop.losses", "rankloop.rankers", "rankloop.clicks.rankers"):
        for kind in _classes(package):
            yield kind()


def checks_for(subject: object) -> list[Check]:
    """List the checks that apply to a measure, a loss or a ranker."""
    modules = []
    if isinstance(subject, Measure):
        modules.append(measures)
    elif isinstance(subject, RankerLike):
        modules.append(rankers)
    elif isinstance(subject, Loss):
        modules.append(losses)
    else:
        raise TypeError(
            f"{subject!r} is not a measure, a loss (value, gradient, smooth, convex) or a "
            "ranker (fit, predict)"
        )
    checks = [
        function
        for module in modules
        for name, function in vars(module).items()
        if name.startswith("check_")
    ]
    if not isinstance(subject, OnlineRankerLike):
        checks = [function for function in checks if not getattr(function, "online", False)]
    return checks


def check(subject: object) -> None:
    """Run every check that applies; the first one that fails raises AssertionError.

    >>> from rankloop.measures.measure import nDCG
    >>> check(nDCG @ 10)
    """
    for function in checks_for(subject):
        function(subject)


def all_checks() -> list[tuple[object, Check]]:
    """List every subject of the package with every check that applies to it."""
    return [(subject, function) for subject in discover() for function in checks_for(subject)]


def _classes(package: str) -> Iterator[type]:
    """Yield the public classes defined in a package that are losses or rankers."""
    if find_spec(package) is None:
        return
    root = import_module(package)
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        module = import_module(info.name)
        for name, kind in inspect.getmembers(module, inspect.isclass):
            mine = kind.__module__ == info.name and not name.startswith("_")
            if mine and not inspect.isabstract(kind) and _is_subject(kind):
                yield kind


def _is_subject(kind: type) -> bool:
    """Return whether a class is a ranker or a loss; a classifier is neither."""
    return issubclass(kind, Ranker | QueryLoss)
