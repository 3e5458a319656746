"""Conventions: named choices for everything that the definition of a measure leaves open.

Published numbers differ because conventions differ. A convention says how grades become gains, how
ranks are discounted, what a query without a relevant document scores, how ties are broken, and so
on. `standard` is Rankloop's convention; the others are those of the tools and collections they are
named after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankloop._utils.arithmetic import exp2, log2
from rankloop.exceptions import MeasureError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ArrayFunction = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]


def exponential(grades: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 2^r - 1."""
    return exp2(grades) - 1.0


def linear(grades: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return r unchanged."""
    return grades


def log2_discount(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / log2(1 + p) for rank p, counted from 1."""
    return 1.0 / log2(1.0 + ranks)


def letor_discount(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return LETOR's discount: 1 for ranks 1 and 2, then 1 / log2(p)."""
    return 1.0 / log2(np.maximum(ranks, 2.0))


@dataclass(frozen=True)
class Convention:
    """All choices that the definition of a measure leaves open.

    Parameters
    ----------
    name : the name of the convention
    gain : function from grades (at least 0; unjudged documents count as 0) to gains, for DCG and
        nDCG
    discount : function from ranks, counted from 1, to discounts
    empty : the value of a query without a relevant document if the measure is a ratio (nDCG, AP, R,
        RR, PairAcc); other measures are 0 for such a query. None leaves such queries out of the
        mean of every measure, and counts them.
    short_lists : `keep`, or `zero`, which sets nDCG@k of a list shorter than k to 0
    ties : `stable` (the order of the rows), `doc_id` (descending, scores compared as float32), or
        `averaged`: DCG, nDCG, P and R are the mean over the orders of tied documents, and AP is
        computed as in scikit-learn, which gives tied documents the last of their ranks
    rel : lowest relevant grade for P, AP, R, RR, RBP and Success; None means any grade above 0
    ap_by_cutoff : AP@k divides by min(k, number of relevant documents), not by their number
    """

    name: str
    gain: ArrayFunction = exponential
    discount: ArrayFunction = log2_discount
    empty: float | None = None
    short_lists: Literal["keep", "zero"] = "keep"
    ties: Literal["stable", "doc_id", "averaged"] = "stable"
    rel: float | None = None
    ap_by_cutoff: bool = False

    def __post_init__(self) -> None:
        if self.ties not in ("stable", "doc_id", "averaged"):
            raise MeasureError(f"ties must be stable, doc_id or averaged; found {self.ties!r}")
        if self.short_lists not in ("keep", "zero"):
            raise MeasureError(f"short_lists must be keep or zero; found {self.short_lists!r}")

    def differing(self, name: str, **changes: Any) -> Convention:
        """Return a copy with another name and some settings changed."""
        return replace(self, name=name, **changes)

    def differences(self, other: Convention) -> tuple[str, ...]:
        """Name the settings in which two conventions differ."""
        return tuple(
            f.name
            for f in fields(self)
            if f.name != "name" and getattr(self, f.name) != getattr(other, f.name)
        )

    def describe(self, setting: str) -> str:
        """Describe one setting in words.

        >>> CONVENTIONS["letor4"].describe("short_lists")
        'nDCG@k of a list shorter than k is 0'
        """
        value = getattr(self, setting)
        if setting in ("gain", "discount"):
            return f"{setting} {_FORMULAS.get(value, getattr(value, '__name__', value))}"
        if setting == "empty" and value is not None:
            return f"no relevant document: scores {value:g}"
        if setting == "rel" and value is not None:
            return f"relevant: grades from {value:g}"
        return _WORDS[setting, value]


_FORMULAS = {
    exponential: "2^r - 1",
    linear: "r",
    log2_discount: "1/log2(1 + p)",
    letor_discount: "1, 1, then 1/log2(p)",
}
_WORDS: dict[tuple[str, object], str] = {
    ("empty", None): "no relevant document: left out of the mean",
    ("short_lists", "keep"): "short lists as they are",
    ("short_lists", "zero"): "nDCG@k of a list shorter than k is 0",
    ("ties", "stable"): "ties in row order",
    ("ties", "doc_id"): "ties by document id, descending",
    ("ties", "averaged"): "ties averaged",
    ("rel", None): "relevant: any grade above 0",
    ("ap_by_cutoff", False): "AP@k divided by the number of relevant documents",
    ("ap_by_cutoff", True): "AP@k divided by min(k, relevant)",
}

_STANDARD = Convention("standard")
_LETOR = Convention("letor3", discount=letor_discount, empty=0.0)

CONVENTIONS: Mapping[str, Convention] = MappingProxyType(
    {
        convention.name: convention
        for convention in (
            _STANDARD,
            _LETOR,
            _LETOR.differing("letor4", short_lists="zero"),
            _LETOR.differing("mslr", rel=2.0),
            _STANDARD.differing("trec_eval", gain=linear, empty=0.0, ties="doc_id"),
            _STANDARD.differing("lightgbm", empty=1.0, ap_by_cutoff=True),
            _STANDARD.differing("xgboost", empty=1.0, ap_by_cutoff=True),
            _STANDARD.differing("sklearn", gain=linear, empty=0.0, ties="averaged"),
        )
    }
)
"""The conventions of widely used tools, by name."""


def as_convention(convention: str | Convention) -> Convention:
    """Find a convention by its name."""
    if isinstance(convention, Convention):
        return convention
    if not isinstance(convention, str) or convention not in CONVENTIONS:
        raise MeasureError(f"unknown convention {convention!r}; known: {', '.join(CONVENTIONS)}")
    return CONVENTIONS[convention]
