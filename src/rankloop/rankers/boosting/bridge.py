"""Imports LightGBM when it is needed, and checks and converts its inputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankloop import _core
from rankloop._utils.processors import passive_waiting, threads
from rankloop.exceptions import DataError, MissingExtraError, ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    import lightgbm
    from numpy.typing import NDArray

    from rankloop.rankers.base import Rows

_OURS = {
    "objective": "another ranker",
    "num_iterations": "trees",
    "learning_rate": "rate",
    "num_leaves": "leaves",
    "min_data_in_leaf": "min_data_in_leaf",
    "feature_fraction": "feature_fraction",
    "lambda_l2": "lambda_l2",
    "seed": "random_state",
    "metric": "metric",
    "early_stopping_round": "patience",
    "monotone_constraints": "increasing and decreasing",
    "categorical_feature": "categorical",
    "label_gain": "gain, where the ranker has it",
}
_SHORT = 16  # shorter views cost more than a copy
_NOT_IN_NAMES = re.compile(r'[\s",:\[\]{}]')
_WHERE_IT_GREW = re.compile(r"^\[(num_threads|machines|local_listen_port): [^\n]*\]$", re.MULTILINE)

_NOWHERE = {"num_threads": "0", "machines": "", "local_listen_port": "12400"}


def engine() -> ModuleType:
    """Import LightGBM, or say what to install; limit its threads to the number available.

    With more threads than are available, by its own setting or by OMP_NUM_THREADS, LightGBM would
    end the process.
    """
    try:
        with passive_waiting():
            import lightgbm
    except ImportError:
        raise MissingExtraError("lightgbm", "trees", "growing trees") from None
    at_most = _core.startable_threads(threads())
    lightgbm.basic._LIB.LGBM_SetMaxThreads(at_most)  # type: ignore[attr-defined]
    return lightgbm


def check_params(params: Mapping[str, object] | None) -> None:
    """Raise if LightGBM does not know a parameter, or if the ranker has its own for it."""
    if params is None:
        return
    if not hasattr(params, "items"):
        raise DataError(f"params must be a dictionary of LightGBM's parameters; found {params!r}")
    known: dict[str, list[str]] = engine().basic._ConfigAliases._get_all_param_aliases()
    names = {alias: name for name, aliases in known.items() for alias in aliases}
    for given in params:
        if given not in names:
            raise DataError(f"LightGBM has no parameter {given!r}; see its list of parameters")
        if names[given] in _OURS:
            raise DataError(f"{given!r} cannot be set in params; use {_OURS[names[given]]}")


def columns(
    chosen: Sequence[int | str], names: Sequence[str] | None, n_features: int, what: str
) -> list[int]:
    """Return the column numbers of features given by name or by number from 0.

    >>> columns(["b", 0], ("a", "b"), 2, "categorical")
    [1, 0]
    """
    rows = []
    for item in chosen:
        if isinstance(item, str):
            if item not in (names or ()):
                known = ", ".join((names or ("none, because the data has no names",))[:20])
                raise DataError(f"{what}: there is no feature {item!r}; the names are {known}")
            rows.append(list(names or ()).index(item))
        elif isinstance(item, int) and not isinstance(item, bool) and 0 <= item < n_features:
            rows.append(item)
        else:
            raise DataError(
                f"{what}: expected names, or columns from 0 to {n_features - 1}; found {item!r}"
            )
    return rows


def check_categories(X: Rows, chosen: Sequence[int]) -> None:
    """Raise if a category is neither missing nor a whole number of at least 0."""
    for column in chosen:
        values = X[:, column]
        bad = ~np.isnan(values) & ((values < 0) | (values != np.floor(values)) | (values >= 2**24))
        if bad.any():
            raise DataError(
                f"categorical feature {column} has the value {values[bad][0]:g}; categories must "
                "be whole numbers from 0, or NaN if missing; number them first"
            )


def pieces(X: Rows, rows: NDArray[np.bool_], *, whole: bool = False) -> list[Rows] | Rows:
    """Return the chosen rows as views of X, or as a copy if there would be many short views.

    whole : return one array, which a warm start needs

    >>> [len(piece) for piece in pieces(np.eye(100, dtype=np.float32), np.arange(100) % 50 > 9)]
    [40, 40]
    """
    edges = np.flatnonzero(np.diff(np.r_[False, rows, False])).reshape(-1, 2)
    if whole or len(edges) * _SHORT > np.count_nonzero(rows):
        return X if rows.all() else X[rows]
    return [X[first:end] for first, end in edges]


def names_for(names: Sequence[str] | None) -> list[str] | Literal["auto"]:
    """Return the feature names if LightGBM can take them, otherwise `auto`."""
    names = names or ()
    taken = len(set(names)) == len(names) > 0 and not any(map(_NOT_IN_NAMES.search, names))
    return list(names) if taken else "auto"


def first_tree(
    settings: dict[str, Any], train: lightgbm.Dataset, before: lightgbm.Booster | None
) -> lightgbm.Booster:
    """Grow one tree after those of an earlier model; keep what is needed to grow more.

    If the data has scores to start from, they are the sum of all that came before; LightGBM itself
    would replace them by the scores of the earlier trees.
    """
    lgb = engine()
    if before is None or train.init_score is None:
        started: lightgbm.Booster = lgb.train(
            settings, train, 1, init_model=before, keep_training_booster=True
        )
        return started
    given = settings["objective"]
    native = isinstance(given, str)
    booster: lightgbm.Booster = lgb.Booster(
        {**settings, "objective": given if native else "none"}, train
    )
    lgb.basic._safe_call(lgb.basic._LIB.LGBM_BoosterMerge(booster._handle, before._handle))
    booster.update(fobj=None if native else given)
    return booster


def text_of(booster: lightgbm.Booster, trees: int | None = None) -> str:
    """Return a model as LightGBM writes it, without what has no effect: threads and addresses."""
    text = booster.model_to_string(num_iteration=trees)
    return _WHERE_IT_GREW.sub(lambda match: f"[{match[1]}: {_NOWHERE[match[1]]}]", text)


def from_text(text: str, n_features: int) -> lightgbm.Booster:
    """Read a model that LightGBM wrote."""
    lgb = engine()
    try:
        booster = lgb.Booster(model_str=text)
    except (lgb.basic.LightGBMError, ValueError) as error:
        raise ModelError(f"LightGBM cannot read the trees: {error}") from None
    if booster.num_feature() != n_features:
        raise ModelError(f"the trees expect {booster.num_feature()} features, not {n_features}")
    return booster  # type: ignore[no-any-return]
