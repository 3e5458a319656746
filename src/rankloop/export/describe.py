"""What each ranker computes, as a scoring program: every ranker is described here, once.

A ranker of your own that derives from a built-in one is described already; any other is added with
`describe.register(MyRanker)`.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.clicks.rankers.from_clicks import ClickTrainedRanker
from rankloop.clicks.rankers.neural_pdgd import NeuralPDGD
from rankloop.exceptions import DataError
from rankloop.export.program import (
    LARGEST,
    Affine,
    Apply,
    Column,
    Encode,
    InputColumn,
    Inputs,
    Join,
    KernelMatrix,
    LinearMap,
    Products,
    Program,
    Trees,
    WithinQuery,
)
from rankloop.features.columns import Features
from rankloop.rankers.batch.adarank import AdaRank
from rankloop.rankers.batch.baselines import Constant, SingleFeature
from rankloop.rankers.batch.coordinate_ascent import CoordinateAscent
from rankloop.rankers.batch.linear import ConvexRanker
from rankloop.rankers.batch.ranknet import RankNet
from rankloop.rankers.batch.stumps import StumpRanker
from rankloop.rankers.boosting.model import TreeModel
from rankloop.rankers.boosting.trees import Tree, trees_of_text
from rankloop.rankers.ensembles.adaptive import Adaptive
from rankloop.rankers.ensembles.blend import Blend
from rankloop.rankers.ensembles.mix import Mix
from rankloop.rankers.kernel.features import KernelFeatures
from rankloop.rankers.kernel.keeprank import KeepRank
from rankloop.rankers.kernel.ranker import KernelRanker
from rankloop.rankers.online.linear import LinearRanker
from rankloop.rankers.wrappers.described import Described
from rankloop.rankers.wrappers.lifted import Lifted
from rankloop.rankers.wrappers.prepared import Prepared
from rankloop.rankers.wrappers.stacked import Stacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.export.program import Node
    from rankloop.features.column import Feature
    from rankloop.rankers.base import Ranker


def program_of(ranker: Ranker, features: Sequence[str] | None = None) -> Program:
    """Return what a fitted ranker computes.

    features : names for the features, in order; None: those of the training data, or f1, f2, ...

    >>> from rankloop.rankers.online.slam import Slam
    >>> ranker = Slam().learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> program_of(ranker).features
    ('f1', 'f2')
    """
    now = ranker.copy()
    now._check_fitted()
    d = now.n_features_in_
    names = tuple(features or now.feature_names_in_ or (f"f{j + 1}" for j in range(d)))
    if len(names) != d or len(set(names)) != d:
        raise DataError(
            f"expected {d} different names of features, one for each feature of the model; found "
            f"{len(names)}, of which {len(set(names))} are different"
        )
    output = describe(now, Inputs(d))
    # One row of zeros shows in which precision the ranker gives its scores.
    single = np.asarray(now._score_rows(np.zeros((1, d), np.float32), np.array([0, 1]))).dtype
    return Program(names, _input_columns(now), output, single == np.float32, type(ranker).__name__)


def _input_columns(ranker: Ranker) -> tuple[InputColumn, ...]:
    """Return what the features are in the user's table; without a description, all are numbers."""
    if isinstance(ranker, ClickTrainedRanker):
        return _input_columns(ranker.ranker_)
    features = getattr(ranker, "features", None)
    if not isinstance(features, Features):
        return (InputColumn(),) * ranker.n_features_in_
    return tuple(InputColumn(c.kind, tuple(c.categories), _count_buckets(c)) for c in features)


def _count_buckets(feature: Feature) -> int:
    """Return how many codes stand for the hash of a text.

    A data set of computed features (`rankloop features`) names these codes like categories, but no
    table has such a text.
    """
    bucket = f"{feature.part_of or feature.name}: bucket "
    return feature.buckets or sum(name.startswith(bucket) for name in feature.categories)


@singledispatch
def describe(ranker: Ranker, x: Node) -> Node:  # noqa: ARG001
    """Return the scores of a fitted ranker as a node, computed from the features that it gets."""
    raise DataError(
        f"a {type(ranker).__name__} cannot be exported, because what it computes is not described; "
        "describe it with rankloop.export.describe.register, or export one of its parts"
    )


def _float32(x: Node) -> Node:
    return Apply(x, "float32")


def _weigh(x: Node, weights: ArrayLike, lanes: int = 1, bias: float = 0.0) -> Node:
    return LinearMap(x, np.atleast_2d(np.asarray(weights, np.float64)), np.array([bias]), lanes)


def _single(x: Node, weights: NDArray[np.floating]) -> Node:
    """Return a float32 sum of products, with weights that are rounded in the same way."""
    # Clipped first, because a cast alone would make an infinity of a weight beyond float32.
    narrow = np.clip(weights, -np.finfo(np.float32).max, np.finfo(np.float32).max)
    return _float32(_weigh(x, narrow.astype(np.float32), 32))


@describe.register(LinearRanker)
def _(ranker: LinearRanker, x: Node) -> Node:
    return _single(x, ranker.weights_)


@describe.register(ConvexRanker)
def _(ranker: ConvexRanker, x: Node) -> Node:
    return _weigh(x, ranker.weights_, 16)


@describe.register(RankNet)
def _(ranker: RankNet, x: Node) -> Node:
    if not ranker.hidden_bias_.size:  # without a hidden layer it is a linear ranker
        return _weigh(x, ranker.weights_, 16)
    return _network(ranker, x)


@describe.register(NeuralPDGD)
def _network(ranker: RankNet | NeuralPDGD, x: Node) -> Node:
    hidden = LinearMap(x, ranker.hidden_weights_.T.copy(), ranker.hidden_bias_)
    return _weigh(Apply(hidden, "tanh"), ranker.weights_)


@describe.register(AdaRank)
@describe.register(CoordinateAscent)
def _(ranker: AdaRank | CoordinateAscent, x: Node) -> Node:
    return _weigh(x, ranker.weights_)


@describe.register(SingleFeature)
def _(ranker: SingleFeature, x: Node) -> Node:
    weights = np.zeros(x.width)
    feature, sign = ranker.choice_.tolist()
    if sign:
        weights[feature] = sign
    return _weigh(x, weights)


@describe.register(Constant)
def _(ranker: Constant, x: Node) -> Node:  # noqa: ARG001
    return _weigh(x, np.zeros(x.width))


@describe.register(StumpRanker)
def _(ranker: StumpRanker, x: Node) -> Node:
    stumps = zip(ranker.features_, ranker.thresholds_, ranker.alphas_, strict=True)
    return Trees(x, tuple(_stump(*stump) for stump in stumps))


def _stump(feature: int, threshold: float, alpha: float) -> Tree:
    """Return a tree whose value is alpha where the feature is above the threshold."""
    single = np.ones(1, np.int64)
    # -1 and -2 are ~0 and ~1, the first and the second leaf; a missing value goes left, to 0.
    return Tree(
        feature * single,
        np.array([threshold], np.float64),
        -1 * single,
        -2 * single,
        np.ones(1, bool),
        np.array([0.0, alpha]),
        {},
    )


@describe.register(TreeModel)
def _(ranker: TreeModel, x: Node) -> Node:
    start = None if ranker.start_ is None else describe(ranker.start_, x)
    if not ranker.booster_:  # no tree was grown
        return _weigh(x, np.zeros(x.width)) if start is None else start
    trees, averaged = trees_of_text(ranker.booster_)
    scores: Node = Trees(x, trees)
    if averaged:  # a random forest gives the mean of its trees
        scores = Affine(scores, np.zeros(1), np.array([float(len(trees))]))
    return scores if start is None else _weigh(Join((start, scores)), np.ones(2))


@describe.register(KernelRanker)
def _(ranker: KernelRanker, x: Node) -> Node:
    seen = _minmax(x) if getattr(ranker, "normalise", False) else x
    near = KernelMatrix(seen, str(ranker.kernel), ranker.support_.astype(np.float64))
    return _float32(_weigh(near, ranker.coefficients_))


@describe.register(KeepRank)
def _(ranker: KeepRank, x: Node) -> Node:
    seen = _minmax(x) if ranker.normalise else x
    near = KernelMatrix(seen, str(ranker.kernel), ranker.support_.astype(np.float64))
    return _float32(_weigh(near, ranker.coefficients_))


@describe.register(Prepared)
def _(ranker: Prepared, x: Node) -> Node:
    kernels, first = ranker.kernel_features(), x.width - ranker.indicators
    numbers = _select(x, range(first)) if ranker.indicators else x
    mapped = _map_features(
        _scale(numbers, ranker.scaler_), ranker.maps_, kernels, ranker.traits.takes_nan
    )
    if ranker.indicators:  # neither scaled nor mapped
        mapped = Join((mapped, _select(x, range(first, x.width))))
    return describe(ranker.ranker_, mapped)


@describe.register(Lifted)
def _(ranker: Lifted, x: Node) -> Node:
    return describe(ranker.ranker_, _lift(x, KernelFeatures.from_dict(ranker.features_)))


@describe.register(Described)
def _(ranker: Described, x: Node) -> Node:
    features = Features.from_dict(ranker.description_)
    _refuse_lists(features)
    columns = _native(features) if ranker.is_native else _encode(features)
    return describe(ranker.ranker_, _float32(Encode(x, tuple(columns))))


@describe.register(Stacked)
def _(ranker: Stacked, x: Node) -> Node:
    # The same numbers as in the ranker, rounded where it rounds: else the scores would differ.
    mapped = _map_features(x, ["minmax", "rank"], {})
    half = np.full(mapped.width, 0.5)
    scores = _float32(WithinQuery(describe(ranker.frozen_, x), "standardise"))
    size = np.array([[np.float32(0.3)]])
    frozen = _float32(_weigh(scores, size))
    centred = _float32(Affine(mapped, half, np.ones(mapped.width)))
    return describe(ranker.ranker_, Join((centred, frozen)))


@describe.register(ClickTrainedRanker)
def _(ranker: ClickTrainedRanker, x: Node) -> Node:
    return describe(ranker.ranker_, x)


@describe.register(Adaptive)
@describe.register(Mix)
def _(ranker: Adaptive | Mix, x: Node) -> Node:
    return _blend([describe(member, x) for member in ranker.members_], ranker.mix_)


@describe.register(Blend)
def _(ranker: Blend, x: Node) -> Node:
    features = ranker._features
    if features is not None:
        _refuse_lists(features)
    encoded = x if features is None else _float32(Encode(x, tuple(_encode(features))))
    members = []
    for member in ranker.members_:
        seen = x if member.traits.takes_nan else encoded
        members.append(
            describe(member, seen if member.traits.takes_raw_features else _minmax(seen))
        )
    return _blend(members, ranker.weights_)


def _blend(members: list[Node], weights: NDArray[np.float64]) -> Node:
    if not members:
        raise DataError("there are no fitted members to export; call fit again")
    return _weigh(WithinQuery(Join(tuple(members)), "standardise"), weights)


def _minmax(x: Node) -> Node:
    return _float32(WithinQuery(x, "minmax"))


def _scale(x: Node, scaler: dict[str, Any]) -> Node:
    name = scaler.get("name", "none")
    if name == "none":
        return x
    if name == "query-minmax":
        return _minmax(x)
    scale = np.array(scaler["scale"], np.float64)
    linked = Apply(x, "signed_log") if name == "log" else x
    divisor = np.where(scale > 0, scale, np.inf)  # a feature that never varies becomes 0
    return _float32(Affine(linked, np.array(scaler["centre"], np.float64), divisor))


def _select(x: Node, columns: range) -> Node:
    return Encode(x, tuple(Column(j, 0.0) for j in columns))


def _map_features(
    x: Node, maps: Sequence[str], kernels: dict[str, KernelFeatures], missing: bool = False
) -> Node:
    """Return mapped features; with `missing`, missing values are ranked last."""
    parts: list[Node] = []
    ranked = x
    if missing and "rank" in maps:
        ranked = Encode(x, tuple(Column(j, -LARGEST) for j in range(x.width)))
    every = np.arange(x.width)
    for name in maps:
        if name == "raw":
            parts.append(x)
        elif name == "rank":
            parts.append(_float32(WithinQuery(ranked, "rank")))
        elif name in ("minmax", "centre"):
            parts.append(_float32(WithinQuery(x, name)))  # type: ignore[arg-type]
        elif name == "square":
            parts.append(_float32(Products(x, every, every)))
        elif name in kernels:
            parts.append(_lift(x, kernels[name]))
        else:
            i, j = (np.array([int(k)]) for k in name.split("*"))
            parts.append(_float32(Products(x, i, j)))
    return parts[0] if len(parts) == 1 else Join(tuple(parts))


def _lift(x: Node, features: KernelFeatures) -> Node:
    if features.method != "nystrom":
        frequencies = features.learnt_["frequencies"].astype(np.float64)
        angles = _float32(LinearMap(x, frequencies, np.zeros(len(frequencies))))
        waves = Join((Apply(angles, "cos"), Apply(angles, "sin")))
        # An Affine node divides, so it gets the inverse of the factor sqrt(2 / size).
        length = np.full(waves.width, 1 / np.sqrt(2 / features.size))
        return _float32(Affine(waves, np.zeros(waves.width), length))
    landmarks, root = features.learnt_["landmarks"], features.learnt_["root"].astype(np.float32)
    near = _float32(KernelMatrix(x, str(features.kernel), landmarks.astype(np.float64)))
    # With fewer landmarks than wanted, the features that are left over are 0.
    padded = np.zeros((features.size, len(landmarks)))
    padded[: len(root)] = root
    return _float32(LinearMap(near, padded, np.zeros(features.size)))


def _native(features: Features) -> list[Column]:
    """Return the columns that trees get: dates as ages, all else as it is."""
    return [
        Column(j, np.nan, -1, -1.0, float(np.float32(feature.origin)))
        if feature.kind == "date"
        else Column(j, np.nan)
        for j, feature in enumerate(features)
    ]


def _encode(features: Features) -> list[Column]:
    """Return the columns that all other rankers get."""
    encoding = features.encoding
    columns: list[Column | None] = [None] * encoding.width
    for j, (feature, (first, codes, mark)) in enumerate(
        zip(features, encoding.places.tolist(), strict=True)
    ):
        for code in range(codes):
            value = 1.0 if code < feature.own_codes else float(np.float32(feature.bucket_value))
            columns[first + code] = Column(j, 0.0, code, slope=value)
        if feature.kind != "category":
            columns[first] = _number(j, feature)
        if mark >= 0 and feature.kind != "category":
            columns[mark] = Column(j, 1.0, slope=0.0)
    return [column for column in columns if column is not None]


def _refuse_lists(features: Features) -> None:
    lists = {column.part_of for column in features if column.part_of}
    if lists:
        raise DataError(
            f"a model with lists of categories ({', '.join(sorted(lists))}) cannot be exported; "
            "train it on a column of 0 and 1 for each category instead"
        )


def _number(source: int, feature: Feature) -> Column:
    turned = (-1.0, float(np.float32(feature.origin))) if feature.kind == "date" else (1.0, 0.0)
    limits = {
        name: float(np.float32(value))
        for name, value in (("low", feature.low), ("high", feature.high))
        if value is not None
    }
    missing = np.clip(feature.default, limits.get("low"), limits.get("high"))
    return Column(source, float(np.float32(missing)), -1, *turned, **limits)
