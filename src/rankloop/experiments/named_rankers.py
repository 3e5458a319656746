"""The rankers of a comparison, and the settings that each may choose from."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rankloop._utils.arguments import as_list, check_type
from rankloop._utils.estimator import Estimator
from rankloop.exceptions import DataError
from rankloop.experiments.peers import PEERS, Peer, read_peer
from rankloop.rankers.registry import read_ranker
from rankloop.rankers.search import grid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Ranker
    from rankloop.rankers.search import Search


@dataclass(frozen=True, eq=False)
class NamedRanker:
    """An unfitted ranker with the settings to try, in this order.

    limits : `limit` and `buckets` of categories, as :meth:`Features.learn` takes them
    """

    name: str
    ranker: Ranker
    settings: tuple[dict[str, object], ...]
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def key(self) -> list[object]:
        """Plain values that identify what is tried."""
        return [
            type(self.ranker).__name__,
            {name: repr(value) for name, value in self.ranker.get_params(deep=False).items()},
            [{name: repr(value) for name, value in s.items()} for s in self.settings],
            *([dict(self.limits)] if self.limits else []),
        ]


def make_named_rankers(
    rankers: str | Iterable[str] | Mapping[str, Ranker],
    measure: Measure,
    *,
    seed: int = 0,
    search: bool = True,
    grids: Mapping[str, Mapping[str, Search]] | None = None,
    limits: Mapping[str, int] | None = None,
) -> list[NamedRanker]:
    """Read rankers; given parameters are not searched, and `grids` replaces a ranker's grid.

    A batch ranker without a given `valid_measure` or `random_state` gets the measure and the seed.
    `limits` are those of the codes of categories, for all rankers.

    >>> from rankloop.measures.measure import nDCG
    >>> [len(c.settings) for c in make_named_rankers(["slam", "slam:rate=1", "auto"], nDCG @ 10)]
    [5, 1, 1]
    """
    if isinstance(rankers, Mapping):
        for ranker in rankers.values():
            check_type("each of the rankers", ranker, Estimator, "a ranker")
        given = {
            name: (ranker, find_changed_parameters(ranker)) for name, ranker in rankers.items()
        }
    else:
        given = {}
        wanted = "names of rankers, or a mapping of names to rankers"
        for text in [rankers] if isinstance(rankers, str) else as_list("rankers", rankers, wanted):
            check_type("a ranker", text, str, "text such as 'slam' or 'slam:rate=0.1'")
            if text in given:
                raise DataError(f"the ranker {text!r} is given twice; give it once")
            read = read_peer if text.partition(":")[0].strip() in PEERS else read_ranker
            cls, params = read(text)
            if issubclass(cls, Peer):
                cls.library()  # what is not installed is said now, and not after hours
            given[text] = cls(**params), set(params)
    if not given:
        raise DataError("give at least one ranker")
    named_rankers = []
    for name, (ranker, fixed) in given.items():
        grid_of_ranker = (grids or {}).get(name) or open_space(ranker, fixed)
        space = dict(grid_of_ranker) if search else {}
        if not ranker.traits.is_online:
            ranker = prepare(ranker, fixed, measure, seed)
        named_rankers.append(NamedRanker(name, ranker, tuple(grid(space)), limits or {}))
    return named_rankers


def prepare(ranker: Any, fixed: set[str], measure: Measure, seed: int) -> Any:
    """Return a new ranker with this measure and seed, unless its own parameters are given."""
    params = ranker.get_params(deep=False)
    for name, value in (("valid_measure", str(measure)), ("random_state", seed)):
        if name in params and name not in fixed:
            params[name] = value
    made = type(ranker)(**params)
    if "ranker__valid_measure" in made.get_params():  # the ranker inside a wrapper stops early
        made = copy.deepcopy(made).set_params(ranker__valid_measure=str(measure))
    return made


def open_space(ranker: Ranker, fixed: set[str]) -> dict[str, Search]:
    """Return the search space without the parameters that are given."""
    return {name: search for name, search in ranker.search_space.items() if name not in fixed}


def find_changed_parameters(ranker: Estimator) -> set[str]:
    """Return the names of parameters that differ from their defaults."""
    defaults = ranker._parameters()
    params = ranker.get_params(deep=False)
    return {name for name, value in params.items() if repr(value) != repr(defaults[name])}
