"""Rankers by name: `slam`, `solar-ii:gamma=1000`, as on the command line."""

from __future__ import annotations

import ast
import re
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from rankloop._utils.arguments import check_type
from rankloop._utils.names import check_name, find_entry_points, unknown_name_error
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.base import Ranker
    from rankloop.rankers.online.base import OnlineRanker

R = TypeVar("R", bound="Ranker")
Home: TypeAlias = "str | type[Ranker] | EntryPoint"

_COMMA = re.compile(r",(?![^()]*\))(?![^\[\]]*\])")  # not inside poly(2,1) or a list

_ONLINE = {
    "slam": "online.slam.Slam",
    "perceptron": "online.perceptron.Perceptron",
    "minimax": "online.minimax.MinimaxPerceptron",
    "online-listnet": "online.listnet.OnlineListNet",
    "online-xendcg": "online.xendcg.OnlineXENDCG",
    "newton": "online.newton.NewtonXENDCG",
    "prank": "online.prank.PRank",
    "pairwise": "online.pairwise.PairwisePerceptron",
    "committee": "online.committee.CommitteePerceptron",
    "solar-i": "online.solar_i.SolarI",
    "solar-ii": "online.solar_ii.SolarII",
    "predtron": "predtron.ranker.PredtronRanker",
    "stacked": "wrappers.stacked.Stacked",
    "mix": "ensembles.mix.Mix",
    "auto": "ensembles.auto.Auto",
    "adaptive": "ensembles.adaptive.Adaptive",
    "kernel-slam": "kernel.online.KernelSlam",
    "kernel-minimax": "kernel.online.KernelMinimax",
    "kernel-solar-i": "kernel.online.KernelSolarI",
    "kernel-predtron": "kernel.predtron.KernelPredtron",
    "online-keeprank": "kernel.keeprank_online.OnlineKeepRank",
}
_FOR_CLICKS = {
    "pdgd": "pdgd.PDGD",
    "neural-pdgd": "neural_pdgd.NeuralPDGD",
    "dbgd": "dbgd.DBGD",
    "mgd": "mgd.MGD",
    "clicks": "from_clicks.FromClicks",
    "thompson": "thompson.Thompson",
}
_IN_ROUNDS = {
    "ranksvm": "batch.ranksvm.RankSVM",
    "listnet": "batch.listnet.ListNet",
    "ranknet": "batch.ranknet.RankNet",
    "loss-linear": "batch.loss.LossLinear",
    "xendcg": "batch.xendcg.XENDCG",
    "adarank": "batch.adarank.AdaRank",
    "rankboost": "batch.rankboost.RankBoost",
    "frank": "batch.frank.FRank",
    "coordinate-ascent": "batch.coordinate_ascent.CoordinateAscent",
    "single-feature": "batch.baselines.SingleFeature",
    "constant": "batch.baselines.Constant",
    "xendcg-boost": "boosting.xendcg.XENDCGBoost",
    "lambdamart": "boosting.lambdamart.LambdaMART",
    "yetirank": "boosting.yetirank.YetiRank",
    "listnet-boost": "boosting.listnet.ListNetBoost",
    "loss-boost": "boosting.loss.LossBoost",
    "imported": "boosting.imported.Imported",
    "blend": "ensembles.blend.Blend",
    "keeprank": "kernel.keeprank.KeepRank",
}
_WRAPPERS = {
    "prepared": "wrappers.prepared.Prepared",
    "described": "wrappers.described.Described",
    "lifted": "wrappers.lifted.Lifted",
}
"""What changes the features of a ranker; nobody chooses them among the rankers."""
_BUILT_IN = {
    name: f"rankloop.{home}.{place.rpartition('.')[0]}:{place.rpartition('.')[2]}"
    for home, places in (
        ("rankers", _ONLINE),
        ("rankers", _IN_ROUNDS),
        ("clicks.rankers", _FOR_CLICKS),
        ("rankers", _WRAPPERS),
    )
    for name, place in places.items()
}
_registered: dict[str, type[Ranker]] = {}
ENTRY_POINTS = "rankloop.rankers"
"""The group of entry points with which an installed package provides rankers."""


def register_ranker(name: str, cls: type[R]) -> type[R]:
    """Register your own ranker under a name, for code, the command line and model files.

    Installed packages need not call this: an entry point `name = "module:Class"` in the group
    `rankloop.rankers` is found when its name is used.

    Parameters
    ----------
    name : the name on the command line, of small letters, digits and hyphens
    cls : a subclass of :class:`rankloop.rankers.base.Ranker`; its class name must be unique, too
    """
    from rankloop.rankers.base import Ranker

    if not isinstance(cls, type) or not issubclass(cls, Ranker):
        raise DataError(f"a ranker must be a class derived from Ranker; found {cls!r}")
    check_name("ranker", name)
    for other in (_homes().get(name), _classes().get(cls.__name__)):
        if not (other is None or isinstance(other, EntryPoint) or _same_class(other, cls)):
            raise DataError(
                f"{name!r} or {cls.__name__} is already the name of {other!r}; use another"
            )
    _registered[name] = cls
    return cls


def _same_class(one: str | type[Ranker], other: type[Ranker]) -> bool:
    """Whether these are the same class, perhaps defined again."""
    place = one if isinstance(one, str) else f"{one.__module__}:{one.__qualname__}"
    return place == f"{other.__module__}:{other.__qualname__}"


_TO_CHOOSE_FROM = (
    *("auto", "blend", "newton", "xendcg", "ranksvm", "online-xendcg"),
    *("xendcg-boost", "lambdamart", "thompson", "pdgd"),
)
_FOR_THE_PAPERS = (
    *("slam", "minimax", "perceptron", "online-listnet", "listnet"),
    *("solar-i", "solar-ii", "prank", "pairwise", "committee"),
    *("predtron", "kernel-predtron", "listnet-boost"),
    *("keeprank", "online-keeprank", "kernel-slam", "kernel-minimax", "kernel-solar-i"),
    *("adarank", "rankboost", "frank", "dbgd", "mgd"),
)


def ranker_groups() -> dict[str, list[str]]:
    """Return the names under headings: what to choose from first, and last what papers compare.

    >>> list(ranker_groups())
    ['To choose from', 'For special needs', 'Kept for the papers']
    """
    names = ranker_names()
    others = [name for name in names if name not in (*_TO_CHOOSE_FROM, *_FOR_THE_PAPERS)]
    return {
        "To choose from": list(_TO_CHOOSE_FROM),
        "For special needs": others,
        "Kept for the papers": list(_FOR_THE_PAPERS),
    }


def ranker_names() -> tuple[str, ...]:
    """Return the short names of all rankers: built-in, registered, and of installed packages.

    The wrappers, which change the features of another ranker, are in :func:`wrapper_names`.
    """
    names = dict.fromkeys((*_BUILT_IN, *_registered, *find_entry_points(ENTRY_POINTS)))
    return tuple(name for name in names if name not in _WRAPPERS)


def wrapper_names() -> tuple[str, ...]:
    """Return the short names of the wrappers, which change the features of another ranker."""
    return tuple(_WRAPPERS)


def online_names() -> tuple[str, ...]:
    """Return the short names of the rankers that can learn from a stream."""
    ours = (name for name in ranker_names() if name not in _BUILT_IN)
    return (*_ONLINE, *_FOR_CLICKS, *(name for name in ours if ranker_class(name).traits.is_online))


def is_known(name: str) -> bool:
    """Whether this is the name of a ranker, or of a ranker's class, that can be loaded."""
    return name in _homes() or name in _classes()


def ranker_class(name: str) -> type[Ranker]:
    """Find a ranker's class by its short name (`solar-ii`) or its class name (`SolarII`)."""
    home = _homes().get(name) or _classes().get(name)
    if isinstance(home, str):
        module, _, cls = home.partition(":")
        return getattr(import_module(module), cls)  # type: ignore[no-any-return]
    if isinstance(home, EntryPoint):
        return register_ranker(home.name, home.load())
    if home is not None:
        return home
    raise unknown_name_error("ranker", name, ranker_names())


def _homes() -> dict[str, Home]:
    """Return all rankers by short name; built-in and registered ones take precedence."""
    return {**find_entry_points(ENTRY_POINTS), **_registered, **_BUILT_IN}


def _classes() -> dict[str, Home]:
    """Return all rankers by class name."""
    brought: dict[str, Home] = {
        entry.attr: entry for entry in find_entry_points(ENTRY_POINTS).values()
    }
    registered = {cls.__name__: cls for cls in _registered.values()}
    ours = {place.partition(":")[2]: place for place in _BUILT_IN.values()}
    return {**brought, **registered, **ours}


@overload
def make_ranker(text: str) -> Ranker: ...
@overload
def make_ranker(text: str, kind: type[R]) -> R: ...
def make_ranker(text: str, kind: type[Ranker] | None = None) -> Ranker:
    """Make a ranker from `name` or `name:parameter=value,...`.

    With `kind`, such as :class:`OnlineRanker`, the ranker must be of that kind, and type checkers
    know the type of the result.

    >>> make_ranker("solar-ii:gamma=1000,covariance=diagonal")
    SolarII(gamma=1000, covariance='diagonal')
    >>> make_ranker("kernel-slam:kernel=poly(2,1),budget=500")
    KernelSlam(kernel='poly(2,1)', budget=500)
    >>> make_ranker("thompson:ranker=auto")  # the ranker inside another, by its name
    Thompson(ranker=Auto())
    """
    cls, params = read_ranker(text)
    if kind is not None:
        check_type("kind", kind, type, "a class of rankers")
    if kind is not None and not issubclass(cls, kind):
        raise DataError(f"{text!r} is a {cls.__name__}, but a {kind.__name__} is needed")
    return cls(**params)


def read_ranker(text: str) -> tuple[type[Ranker], dict[str, Any]]:
    """Read `name:parameter=value,...`; return the class and the given parameters.

    >>> read_ranker("solar-i:C=0.1")[1]
    {'C': 0.1}
    """
    check_type("a ranker", text, str, "text such as 'slam' or 'slam:rate=0.1'")
    name, _, rest = text.partition(":")
    cls = ranker_class(name.strip())
    params: dict[str, object] = {}
    for item in filter(None, (part.strip() for part in _COMMA.split(rest))):
        key, equals, value = item.partition("=")
        if not equals:
            raise DataError(f"cannot read {item!r} in {text!r}; write parameters as rate=0.1")
        if key.strip() not in cls._parameters():
            raise DataError(_unknown_parameter(name, key.strip(), cls))
        if key.strip() in params:
            raise DataError(f"{key.strip()} is given twice in {text!r}")
        read = _value(value.strip())
        if key.strip() == "ranker" and isinstance(read, str):
            read = make_ranker(read)
        params[key.strip()] = read
    return cls, params


def _unknown_parameter(name: str, key: str, cls: type[Ranker]) -> str:
    known = cls._parameters()
    close = get_close_matches(key, known, 1, 0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    online = f"online-{name.strip()}"
    if online in _ONLINE and key in ranker_class(online)._parameters():
        hint = f"; {online} has it"
    return f"{name} has no parameter {key!r}; it has: {', '.join(known)}{hint}"


def ranker_text(name: str, params: Mapping[str, object]) -> str:
    """Write a ranker as :func:`make_ranker` reads it.

    >>> ranker_text("slam", {"measure": "AP", "rate": 0.1})
    'slam:measure=AP,rate=0.1'
    """
    given = ",".join(f"{key}={value}" for key, value in params.items())
    return f"{name}:{given}" if given else name


def make_online_ranker(text: str) -> OnlineRanker:
    """Make an online ranker; the error for another one names those that learn online.

    >>> make_online_ranker("online-xendcg:rate=0.1")
    OnlineXENDCG(rate=0.1)
    """
    from rankloop.rankers.online.base import OnlineRanker

    check_type("a ranker", text, str, "text such as 'slam' or 'slam:rate=0.1'")
    name = text.partition(":")[0].strip()
    own = f"online-{name}"
    hint = f"did you mean {own!r}? " if own in _ONLINE else ""
    ranker = None if hint else make_ranker(text)
    if not isinstance(ranker, OnlineRanker):
        raise DataError(
            f"{name} learns from whole data sets (use train or compare); {hint}these learn online: "
            + ", ".join(online_names())
        )
    return ranker


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)
