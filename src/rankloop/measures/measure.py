"""Measures are values with a text form, such as `nDCG@10` or `AP(rel=2)`.

>>> nDCG @ 10
nDCG@10
>>> parse("ap(rel=2)@5") == AP(rel=2) @ 5
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from rankloop._utils.arguments import as_list
from rankloop.exceptions import MeasureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Family:
    """The properties shared by all measures of one name.

    code : its number in the compiled core
    summary : one line that says what it measures
    parameters : names and defaults; None means that the convention decides
    ratio : whether it divides by the value of the best ranking (0/0 without relevant documents)
    needs_cutoff : whether it is undefined without `@k`
    averages_ties : whether its mean over all orders of tied documents is known
    """

    code: int
    summary: str
    parameters: tuple[tuple[str, float | None], ...] = ()
    ratio: bool = False
    takes_cutoff: bool = True
    needs_cutoff: bool = False
    averages_ties: bool = True


_REL = (("rel", None),)

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "DCG": Family(0, "sum of gain times discount down the ranking"),
        "nDCG": Family(1, "DCG divided by the DCG of the best ranking", ratio=True),
        "AP": Family(2, "mean of precision at each relevant document", _REL, ratio=True),
        "P": Family(3, "share of relevant documents in the first k, or in all retrieved", _REL),
        "R": Family(4, "share of the relevant documents in the first k", _REL, ratio=True),
        "RR": Family(
            5, "1 / rank of the first relevant document", _REL, ratio=True, averages_ties=False
        ),
        "ERR": Family(
            6,
            "expected 1 / rank where a cascading user stops",
            (("max", 4.0),),
            averages_ties=False,
        ),
        "RBP": Family(
            7,
            "share of relevant documents seen by a user who continues with probability p",
            (*_REL, ("p", 0.8)),
            averages_ties=False,
        ),
        "Success": Family(
            8,
            "1 where a relevant document is in the first k",
            _REL,
            needs_cutoff=True,
            averages_ties=False,
        ),
        "PairAcc": Family(
            9,
            "share of judged pairs with different grades in the right order; a tie counts half",
            ratio=True,
            takes_cutoff=False,
        ),
    }
)

_ALIASES = {
    **{name.lower(): name for name in FAMILIES},
    "map": "AP",
    "mrr": "RR",
    "precision": "P",
    "recall": "R",
}


@dataclass(frozen=True)
class Measure:
    """A measure of one ranked query; higher is better.

    Parameters
    ----------
    name : a key of `FAMILIES`
    cutoff : number of top ranks that count, at least 1; None means all
    parameters : `(name, value)` pairs that differ from the defaults, sorted by name. `rel`: the
        lowest relevant grade (default: any grade above 0); `p`: persistence of RBP, in (0, 1);
        `max`: highest grade for ERR.
    """

    reads_back: ClassVar[bool] = True
    """Whether its text stands for it, as in model files."""

    name: str
    cutoff: int | None = None
    parameters: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        family = self.family
        if self.cutoff is not None:
            if not family.takes_cutoff:
                raise MeasureError(f"{self.name} takes no cutoff; found @{self.cutoff}")
            whole = isinstance(self.cutoff, int) and not isinstance(self.cutoff, bool)
            if not whole or not 1 <= self.cutoff < 2**31:
                raise MeasureError(
                    "a cutoff must be a whole number of at least 1; found "
                    f"{self.name}@{self.cutoff}"
                )
        for key, value in self.parameters:
            if key not in dict(family.parameters):
                known = ", ".join(dict(family.parameters)) or "none"
                raise MeasureError(f"{self.name} has no parameter {key!r}; it has: {known}")
            if (key == "p" and not 0 < value < 1) or (key != "p" and not value > 0):
                expected = "between 0 and 1" if key == "p" else "above 0"
                raise MeasureError(f"{key} of {self.name} must be {expected}; found {value:g}")
        defaults = dict(family.parameters)
        changed = sorted((k, v) for k, v in self.parameters if v != defaults[k])
        object.__setattr__(self, "parameters", tuple(changed))

    @property
    def family(self) -> Family:
        """The properties shared by all measures of this name."""
        if self.name not in FAMILIES:
            raise MeasureError(f"unknown measure {self.name!r}; known: {', '.join(FAMILIES)}")
        return FAMILIES[self.name]

    @property
    def averages_ties(self) -> bool:
        """Whether its mean over all orders of tied documents is known."""
        return self.family.averages_ties and (self.name != "AP" or self.cutoff is None)

    def parameter(self, name: str) -> float | None:
        """Return the parameter's value, or its default."""
        return dict(self.parameters).get(name, dict(self.family.parameters).get(name))

    def __matmul__(self, cutoff: int) -> Measure:
        return replace(self, cutoff=cutoff)

    def __call__(self, **parameters: float) -> Measure:
        """Return the same measure with other parameters, as in `AP(rel=2)`."""
        merged = {**dict(self.parameters), **{k: float(v) for k, v in parameters.items()}}
        return replace(self, parameters=tuple(merged.items()))

    def __str__(self) -> str:
        inside = ", ".join(f"{k}={repr(v).removesuffix('.0')}" for k, v in self.parameters)
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.name}{f'({inside})' if inside else ''}{cutoff}"

    __repr__ = __str__


DCG, nDCG, AP, P, R, RR, ERR, RBP, Success, PairAcc = (Measure(name) for name in FAMILIES)

_FORM = re.compile(r"\s*([A-Za-z]+)\s*(?:\(([^()]*)\))?\s*(?:@\s*(\d+))?\s*")


def parse(text: str | Measure) -> Measure:
    """Read a measure from its text form; upper and lower case are equal, `MAP` and `MRR` also work.

    >>> parse("RBP(p=0.5)"), parse("MAP"), parse("ndcg@10")
    (RBP(p=0.5), AP, nDCG@10)
    """
    if isinstance(text, Measure):
        return text
    if not isinstance(text, str):
        raise MeasureError(f"a measure is text such as 'nDCG@10'; found {text!r}")
    return _parse(text)


@lru_cache(maxsize=256)
def _parse(text: str) -> Measure:
    match = _FORM.fullmatch(text)
    if match is None:
        raise MeasureError(
            f"cannot read {text!r} as a measure; write for example nDCG@10 or AP(rel=2)"
        )
    name, inside, cutoff = match.groups()
    if name.lower() not in _ALIASES:
        raise MeasureError(f"unknown measure {name!r}; known: {', '.join(FAMILIES)}")
    parameters = {}
    for item in filter(None, (part.strip() for part in (inside or "").split(","))):
        key, equals, value = (part.strip() for part in item.partition("="))
        try:
            number = float(value)
        except ValueError:
            equals = ""
        if not equals or key in parameters:
            raise MeasureError(f"cannot read {item!r} in {text!r}; write parameters as rel=2")
        parameters[key] = number
    measure = Measure(_ALIASES[name.lower()], int(cutoff) if cutoff else None)
    return measure(**parameters) if parameters else measure


def parse_all(measures: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Read one measure or several.

    >>> parse_all(["nDCG@5", AP])
    (nDCG@5, AP)
    """
    if isinstance(measures, str | Measure):
        return (parse(measures),)
    several = as_list("measures", measures, "a measure such as 'nDCG@10', or several")
    return tuple(parse(measure) for measure in several)
