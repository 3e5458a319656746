"""Rankers of other libraries for comparisons: LightGBM, XGBoost and CatBoost.

Each is fitted by its own library with its own defaults, except for the number of trees, and stops
early on the same validation part as ours. They can only be compared: they are not saved in our
format, and cannot continue to learn.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop._utils.estimator import Estimator
from rankloop._utils.processors import passive_waiting, useful_threads
from rankloop.exceptions import DataError, MissingExtraError
from rankloop.rankers.search import OneOf
from rankloop.rankers.traits import Traits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import ModuleType

    import catboost
    import xgboost
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.search import Search


class Peer(Estimator):
    """A ranker of another library.

    Parameters
    ----------
    trees : maximum number of trees; early stopping may give fewer
    rate : learning rate, by which the values of a tree are multiplied
    size : size of a tree as the library defines it, leaves or depth
    patience : stop after this number of rounds without an improvement on the validation part
    random_state : random seed
    """

    package: ClassVar[str]
    traits: ClassVar[Traits] = Traits(takes_nan=True)
    search_space: ClassVar[Mapping[str, Search]] = {"rate": OneOf((0.03, 0.1))}

    def __init__(
        self,
        trees: int = 500,
        rate: float = 0.1,
        size: int | None = None,
        patience: int = 50,
        random_state: int = 0,
        categorical: tuple[int, ...] = (),
    ) -> None:
        self.trees = trees
        self.rate = rate
        self.size = size
        self.patience = patience
        self.random_state = random_state
        self.categorical = categorical

    rounds_: int

    def fit(self, data: QueryDataset, *, valid: QueryDataset | None = None) -> Self:
        """Fit the library's ranker; stop early on the validation part."""
        if data.y.min(initial=0) < 0:
            data = data.keep(data.y >= 0)
        if valid is not None and valid.y.min(initial=0) < 0:
            valid = valid.keep(valid.y >= 0)
        self.grades_ = np.unique(np.concatenate([data.y] + ([valid.y] if valid else [])))
        self._fit(data, valid)
        return self

    def fit_path(
        self,
        data: QueryDataset,
        settings: Iterable[Mapping[str, object]],
        *,
        valid: QueryDataset | None = None,
    ) -> Iterator[Self]:
        """Yield one fitted copy per setting."""
        for setting in settings:
            params = {**self.get_params(deep=False), **setting}
            yield type(self)(**params).fit(data, valid=valid)

    def predict(self, data: QueryDataset) -> NDArray[np.float64]:
        """Score the documents of a data set."""
        return np.asarray(self._scores(data.X), np.float64)

    @abstractmethod
    def _fit(self, data: QueryDataset, valid: QueryDataset | None) -> None:
        """Fit the library's model."""

    @abstractmethod
    def _scores(self, X: NDArray[np.float32]) -> object:
        """Score rows."""

    @abstractmethod
    def dumps(self) -> bytes:
        """Return the model as its library writes it."""

    @classmethod
    def library(cls) -> ModuleType:
        """Return the library; raise if it is not installed."""
        from importlib import import_module

        try:
            with passive_waiting():
                return import_module(cls.package)
        except ImportError:
            name = "xgboost-cpu" if cls.package == "xgboost" else cls.package
            raise MissingExtraError(name, "peers", f"comparing with {cls.package}") from None

    def _labels(self, data: QueryDataset) -> NDArray[np.int64]:
        """Return grades as whole numbers, which these libraries need."""
        if (data.y == np.floor(data.y)).all() and data.y.max(initial=0) <= 30:
            return data.y.astype(np.int64)
        if len(self.grades_) > 31:
            raise DataError(f"{self.package} takes at most 31 grades; found {len(self.grades_)}")
        return np.searchsorted(self.grades_, data.y)


class LightGBMPeer(Peer):
    """LightGBM's `lambdarank`, with the library's own defaults."""

    package = "lightgbm"

    def _fit(self, data: QueryDataset, valid: QueryDataset | None) -> None:
        lgb = self.library()
        options = {"free_raw_data": False, "categorical_feature": list(self.categorical) or "auto"}
        train = lgb.Dataset(data.X, self._labels(data), group=data.sizes, **options)
        watched, calls = [], []
        if valid is not None:
            watched = [train.create_valid(valid.X, self._labels(valid), group=valid.sizes)]
            calls = [lgb.early_stopping(self.patience, verbose=False)]
        settings = {
            "objective": "lambdarank",
            "metric": "ndcg",
            "eval_at": [10],
            "learning_rate": self.rate,
            "num_leaves": self.size or 31,
            "seed": self.random_state,
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": useful_threads(data.X.size),
            "verbosity": -1,
        }
        self._model = lgb.train(settings, train, self.trees, valid_sets=watched, callbacks=calls)
        self.rounds_ = self._model.best_iteration or self._model.current_iteration()

    def _scores(self, X: NDArray[np.float32]) -> object:
        return self._model.predict(X, num_iteration=self.rounds_)

    def dumps(self) -> bytes:
        """Return the model as LightGBM writes it."""
        return str(self._model.model_to_string(num_iteration=self.rounds_)).encode()


class XGBoostPeer(Peer):
    """XGBoost's `rank:ndcg`, with the library's own defaults."""

    package = "xgboost"

    def _fit(self, data: QueryDataset, valid: QueryDataset | None) -> None:
        xgb = self.library()
        watched = [] if valid is None else [(self._matrix(valid), "valid")]
        self._model = xgb.train(
            {
                "objective": "rank:ndcg",
                "eval_metric": "ndcg@10",
                "eta": self.rate,
                "max_depth": self.size or 6,
                "seed": self.random_state,
                "nthread": useful_threads(data.X.size),
                "tree_method": "hist",
                "verbosity": 0,
            },
            self._matrix(data),
            self.trees,
            evals=watched,
            early_stopping_rounds=None if valid is None else self.patience,
            verbose_eval=False,
        )
        self.rounds_ = self.trees if valid is None else self._model.best_iteration + 1

    def _matrix(self, data: QueryDataset | None, X: Any = None) -> xgboost.DMatrix:
        d = len((X if data is None else data.X)[0])
        types = ["c" if j in self.categorical else "float" for j in range(d)]
        shape: dict[str, object] = {"feature_types": types, "enable_categorical": True}
        matrix: xgboost.DMatrix
        if data is None:
            matrix = self.library().DMatrix(X, **shape)
            return matrix
        qid = np.repeat(np.arange(len(data)), data.sizes)
        matrix = self.library().DMatrix(data.X, self._labels(data), qid=qid, **shape)
        return matrix

    def _scores(self, X: NDArray[np.float32]) -> object:
        return self._model.predict(self._matrix(None, X), iteration_range=(0, self.rounds_))

    def dumps(self) -> bytes:
        """Return the model as XGBoost writes it."""
        return bytes(self._model[: self.rounds_].save_raw())


class CatBoostPeer(Peer):
    """CatBoost's `YetiRank`, with the library's own defaults."""

    package = "catboost"

    def _fit(self, data: QueryDataset, valid: QueryDataset | None) -> None:
        cb = self.library()
        self._model = cb.CatBoost(
            {
                "loss_function": "YetiRank",
                "eval_metric": "NDCG:top=10",
                "iterations": self.trees,
                "learning_rate": self.rate,
                "depth": self.size or 6,
                "random_seed": self.random_state,
                "thread_count": useful_threads(data.X.size),
                "allow_writing_files": False,
                "logging_level": "Silent",
                **({} if valid is None else {"od_type": "Iter", "od_wait": self.patience}),
            }
        )
        watched = None if valid is None else self._pool(valid)
        self._model.fit(self._pool(data), eval_set=watched)
        self.rounds_ = int(self._model.tree_count_)

    def _pool(self, data: QueryDataset) -> catboost.Pool:
        qid = np.repeat(np.arange(len(data)), data.sizes)
        labels = self._labels(data) / max(len(self.grades_) - 1, 1)  # it wants them in 0 .. 1
        return self.library().Pool(
            self._columns(data.X), labels, group_id=qid, cat_features=list(self.categorical)
        )

    def _columns(self, X: NDArray[np.float32]) -> NDArray[np.generic]:
        if not self.categorical:
            return X
        columns = X.astype(object)
        for j in self.categorical:
            columns[:, j] = [str(code) for code in X[:, j]]
        return columns

    def _scores(self, X: NDArray[np.float32]) -> object:
        return self._model.predict(self._columns(X))

    def dumps(self) -> bytes:
        """Return the model as CatBoost writes it."""
        return bytes(self._model._serialize_model())


PEERS: Mapping[str, type[Peer]] = MappingProxyType(
    {"lightgbm": LightGBMPeer, "xgboost": XGBoostPeer, "catboost": CatBoostPeer}
)
"""Rankers of other libraries by name."""


def read_peer(text: str) -> tuple[type[Peer], dict[str, Any]]:
    """Read `lightgbm` or `xgboost:rate=0.1,trees=300`.

    >>> read_peer("xgboost:trees=300")[1]
    {'trees': 300}
    """
    name, _, rest = text.partition(":")
    cls = PEERS[name.strip()]
    params: dict[str, object] = {}
    for item in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = item.partition("=")
        known = [parameter for parameter in cls._parameters() if parameter != "categorical"]
        if not equals or key.strip() not in known:
            raise DataError(
                f"{name} has no parameter {item!r}; write for example {known[0]}=...; its "
                f"parameters are {', '.join(known)}"
            )
        try:
            params[key.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            raise DataError(f"{key.strip()} of {name} must be a number; found {value!r}") from None
    return cls, params
