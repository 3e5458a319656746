"""Whether a loop can give a model the features that it was trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.features.column import Feature
from rankloop.features.columns import Features
from rankloop.features.kinds.categories import Categories
from rankloop.features.kinds.category import Category
from rankloop.rankers.wrappers.described import Described

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankloop.features.state import FeatureState
    from rankloop.rankers.base import Ranker
    from rankloop.serving.settings.loop import LoopSettings


def fit_codes(model: Ranker, settings: LoopSettings, state: FeatureState | None) -> Ranker:
    """Return a model that takes categories as a loop gives them, if it knows their names.

    A loop numbers categories as they appear, and a table in its own way. What the model does not
    know is missing for it, and so is what appears in the loop from now on.
    """
    columns = settings.columns
    if columns is None or state is None or not isinstance(model, Described):
        return model
    names = _find_columns(model.feature_names_in_, settings, state.labels())
    if names != model.feature_names_in_:
        model = model.with_names(names)
    known = {column.name for column in model.features or () if column.categories}
    words: dict[str, Sequence[str]] = {
        kind.name: state.categories(str(kind.field))[: kind.limit]
        for kind in settings.definitions.features
        if isinstance(kind, Category) and kind.name in known
    }
    theirs = {column.name: column for column in model.features or ()}
    words |= {
        column.name: column.categories
        for kind in settings.definitions.sent.values()
        for column in kind.columns
        if column.name in known and not _same_codes(theirs[column.name], column)
    }
    return model.with_codes_of(columns, words) if words else model


def _find_columns(
    names: tuple[str, ...], settings: LoopSettings, labels: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the loop's names of columns of lists of categories, which a model has by category.

    A column without a category had no values when the model was trained: any free one will do.
    """
    lists = {
        column.name: kind.name
        for kind in settings.definitions.features
        if isinstance(kind, Categories)
        for column in kind.columns
    }
    places = {labels[column]: column for column in lists if column in labels}
    found = [places.get(name, name) for name in names]
    used = {place for name, place in zip(names, found, strict=True) if name in places}
    for k, name in enumerate(names):
        if name in lists and name not in places and name in labels:
            free = (c for c in lists if lists[c] == lists[name] and c not in {*used, *names})
            found[k] = next(free, name)
            used.add(found[k])
    return tuple(found)


def check_model(model: Ranker, settings: LoopSettings) -> None:
    """Raise if a model has other features than a loop, or means other things by them.

    Features are matched by name, in any order; a model without names must have as many. Categories
    must be codes as the loop gives them, and a loop that computes features also gives missing
    values, so its models must accept them.
    """
    names = settings.names
    n_features = model.n_features_in_ if model.is_fitted else 0
    if not model.is_fitted or (not model.feature_names_in_ and n_features != len(names)):
        raise DataError(f"the model has {n_features} features, but this loop has {len(names)}")
    absent = [name for name in model.feature_names_in_ if name not in names]
    if absent:
        shown = ", ".join(map(repr, absent[:10])) + (", ..." if len(absent) > 10 else "")
        raise DataError(
            f"the model needs {len(absent)} features that this loop does not have: {shown}; it has "
            f"{', '.join(map(repr, names[:20]))}{', ...' if len(names) > 20 else ''}"
        )
    if settings.computes and not model.feature_names_in_:
        raise DataError(
            "the model does not know the names of its features, but a loop that computes features "
            "finds them by name; train it on what `rankloop features` writes"
        )
    theirs = getattr(model, "features", None)
    ours = settings.columns
    if ours is not None and not (model.traits.takes_nan or isinstance(theirs, Features)):
        raise DataError(
            "the model accepts no missing values, which computed features may have; train it with "
            "`described`, which fills them in"
        )
    if isinstance(theirs, Features):
        kinds = {} if ours is None else {column.name: column for column in ours}
        for column in theirs:
            _check_column(column, kinds.get(column.name, Feature(column.name)), settings)


_RETRAIN = "train it on what `rankloop features` writes for the same definitions"
_COMPUTE = (
    "features need definitions for that. If callers send texts and dates with each item, `rankloop "
    "serve --model MODEL --init` writes the definitions; if the loop is to compute features, "
    "`rankloop init --items CATALOGUE` writes them, and `rankloop features` the training data"
)
_TRANSLATE = (
    "give the loop its catalogue, start the service without the model, and add it with `rankloop "
    "models add`, which translates the codes; or " + _RETRAIN
)


def _check_column(theirs: Feature, ours: Feature, settings: LoopSettings) -> None:
    """Raise if a model takes a column for something else than the loop gives."""
    if theirs.kind == "category" and ours.kind == "category":
        if _same_codes(theirs, ours):
            return
        if len(theirs.recode) == ours.codes:
            return
        raise DataError(
            f"feature {ours.name!r}: the model was trained on other codes of categories than this "
            f"loop gives; {_TRANSLATE}"
        )
    if theirs.kind != ours.kind and {theirs.kind, ours.kind} & {"category", "date"}:
        raise DataError(
            f"feature {ours.name!r} is a {theirs.kind} for the model, but this loop gives it as a "
            f"{ours.kind}; {_RETRAIN if settings.computes else _COMPUTE}"
        )


def _same_codes(theirs: Feature, ours: Feature) -> bool:
    return theirs.categories == ours.categories and theirs.codes == ours.codes
