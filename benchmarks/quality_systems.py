"""What is compared: our rankers and those of LightGBM, XGBoost and CatBoost, each in one function.

A peer is trained with the settings that its own documentation recommends for ranking, and with
settings that Optuna found on the validation part, beginning with the documented ones. One of our
rankers is tuned in the same way; all others have their defaults.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import rankloop as rl
from rankloop.features.columns import needs_description
from rankloop.rankers.ensembles.blend import default_members
from rankloop.rankers.ensembles.views import description
from rankloop.rankers.search import OneOf, Range
from rankloop.rankers.training import describe_if_needed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Ranker
    from rankloop.rankers.search import Search

METRIC = "nDCG@10"
TREES, PATIENCE = 500, 50


@dataclass(frozen=True)
class AppendResult:
    """Scores of the validation and the test part, and the processor time of training."""

    valid: NDArray[Any]
    test: NDArray[Any]
    seconds: float


@dataclass(frozen=True)
class System:
    """A way to train.

    train : function of the three parts and settings
    documented : the settings to begin with
    space : what Optuna searches; nothing if the system is not tuned
    is_peer : whether it is another library's
    last : further settings with which the best settings are trained once more
    """

    train: Callable[[QueryDataset, QueryDataset, QueryDataset, Mapping[str, Any]], AppendResult]
    documented: Mapping[str, Any] = field(default_factory=dict)
    space: Mapping[str, Search] = field(default_factory=dict)
    is_peer: bool = False
    last: Mapping[str, Any] = field(default_factory=dict)


def ours(make: Callable[[QueryDataset], Ranker], both: bool = False) -> System:
    """Return one of our rankers; `both` trains one that never stops early on both parts."""

    def train(
        train: QueryDataset, valid: QueryDataset, test: QueryDataset, settings: Mapping[str, Any]
    ) -> AppendResult:
        start = time.process_time()
        ranker = describe_if_needed(make(train).set_params(**settings), train)
        if both:
            ranker.fit(rl.data.concat([train, valid]))
        else:
            ranker.fit(train, valid=valid)
        seconds = time.process_time() - start
        return AppendResult(ranker.predict(valid), ranker.predict(test), seconds)

    return System(train)


def member(k: int, **settings: Any) -> Callable[[QueryDataset], Ranker]:
    """One of the blend's members."""

    def make(data: QueryDataset) -> Ranker:
        features = None
        if needs_description(data):
            features = rl.features.Features.from_dict(description(data, []))
        return default_members(data, features)[k].set_params(**settings)

    return make


def from_linear(data: QueryDataset) -> Ranker:
    return member(2)(data)


def lightgbm(
    train: QueryDataset, valid: QueryDataset, test: QueryDataset, settings: Mapping[str, Any]
) -> AppendResult:
    import lightgbm as lgb

    fixed = {"metric": "ndcg", "eval_at": [10], "verbosity": -1, "num_threads": 1, "seed": 0}
    start = time.process_time()
    data, watched = (lgb.Dataset(d.X, d.y, group=d.sizes) for d in (train, valid))
    stop = lgb.early_stopping(PATIENCE, verbose=False)
    model = lgb.train({**fixed, **settings}, data, TREES, valid_sets=[watched], callbacks=[stop])
    seconds = time.process_time() - start
    return AppendResult(
        np.asarray(model.predict(valid.X)), np.asarray(model.predict(test.X)), seconds
    )


def xgboost(
    train: QueryDataset, valid: QueryDataset, test: QueryDataset, settings: Mapping[str, Any]
) -> AppendResult:
    import xgboost as xgb

    fixed = {"eval_metric": "ndcg@10", "nthread": 1, "seed": 0, "verbosity": 0}
    start = time.process_time()
    data, watched = (
        xgb.DMatrix(d.X, d.y, qid=np.repeat(np.arange(len(d)), d.sizes)) for d in (train, valid)
    )
    model = xgb.train(
        {**fixed, **settings},
        data,
        TREES,
        evals=[(watched, "valid")],
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    seconds = time.process_time() - start
    until = (0, model.best_iteration + 1)
    found = [model.predict(xgb.DMatrix(d.X), iteration_range=until) for d in (valid, test)]
    return AppendResult(found[0], found[1], seconds)


def catboost(
    train: QueryDataset, valid: QueryDataset, test: QueryDataset, settings: Mapping[str, Any]
) -> AppendResult:
    import catboost as cb

    start = time.process_time()
    pools = [
        cb.Pool(d.X, d.y, group_id=np.repeat(np.arange(len(d)), d.sizes))
        for d in (train, valid, test)
    ]
    model = cb.CatBoost(
        {
            "eval_metric": "NDCG:top=10;type=Exp",
            "iterations": TREES,
            "od_wait": PATIENCE,
            "od_type": "Iter",
            "thread_count": 1,
            "random_seed": 0,
            "verbose": False,
            "allow_writing_files": False,
            **settings,
        }
    )
    model.fit(pools[0], eval_set=pools[1], use_best_model=True)
    seconds = time.process_time() - start
    return AppendResult(model.predict(pools[1]), model.predict(pools[2]), seconds)


OURS = {
    "blend": ours(lambda _: rl.Blend()),
    "blend, without refit": ours(lambda _: rl.Blend(refit=False)),
    "auto": ours(lambda _: rl.Auto(), both=True),
    "xendcg-boost": ours(lambda _: rl.XENDCGBoost(refit=True)),
    "xendcg-boost with ranks": ours(member(1, ranker__refit=True)),
    "lambdamart": ours(lambda _: rl.LambdaMART(refit=True)),
    "lambdamart from linear": ours(member(2, refit=True)),
    "yetirank": ours(lambda _: rl.rankers.YetiRank(refit=True)),
}
PEERS = {
    # the file train.conf of LightGBM's example `lambdarank`, with its slower rate and more trees
    "LightGBM lambdarank": System(
        lightgbm,
        {
            "objective": "lambdarank",
            "learning_rate": 0.05,
            "num_leaves": 31,
            "min_data_in_leaf": 50,
            "min_sum_hessian_in_leaf": 5.0,
            "bagging_freq": 1,
            "bagging_fraction": 0.9,
        },
        {
            "num_leaves": Range(7, 63, log=True, whole=True),
            "min_data_in_leaf": Range(5, 80, log=True, whole=True),
            "min_sum_hessian_in_leaf": Range(1e-3, 5.0, log=True),
            "feature_fraction": OneOf((0.3, 0.6, 1.0)),
            "learning_rate": Range(0.02, 0.1, log=True),
        },
        True,
    ),
    "LightGBM rank_xendcg": System(
        lightgbm, {"objective": "rank_xendcg", "learning_rate": 0.05}, is_peer=True
    ),
    # the page "Learning to Rank" of XGBoost's documentation
    "XGBoost rank:ndcg": System(
        xgboost,
        {
            "objective": "rank:ndcg",
            "tree_method": "hist",
            "lambdarank_pair_method": "topk",
            "lambdarank_num_pair_per_sample": 8,
            "eta": 0.05,
            "max_depth": 6,
            "min_child_weight": 1.0,
            "colsample_bytree": 1.0,
        },
        {
            "max_depth": Range(3, 8, whole=True),
            "min_child_weight": Range(0.1, 20, log=True),
            "colsample_bytree": OneOf((0.3, 0.6, 1.0)),
            "eta": Range(0.02, 0.1, log=True),
        },
        True,
    ),
    # the tutorial on ranking of CatBoost's documentation: YetiRank with its defaults
    "CatBoost YetiRank": System(
        catboost,
        {"loss_function": "YetiRank", "learning_rate": 0.05, "depth": 6, "l2_leaf_reg": 3.0},
        {
            "depth": Range(4, 7, whole=True),
            "learning_rate": Range(0.03, 0.15, log=True),
            "l2_leaf_reg": Range(1.0, 10.0, log=True),
        },
        True,
    ),
}
TUNED = {
    "lambdamart from linear": System(
        ours(from_linear).train,
        {"feature_fraction": 0.6, "rate": 0.05, "leaves": 15, "lambda_l2": 0.1},
        {
            "leaves": Range(7, 63, log=True, whole=True),
            "feature_fraction": OneOf((0.3, 0.6, 1.0)),
            "lambda_l2": Range(0.01, 10.0, log=True),
            "rate": Range(0.02, 0.1, log=True),
        },
        last={"refit": True},
    ),
    **{name: system for name, system in PEERS.items() if system.space},
}
SYSTEMS: dict[str, tuple[System, bool]] = {
    **{name: (system, False) for name, system in (OURS | PEERS).items()},
    **{f"{name}, tuned": (system, True) for name, system in TUNED.items()},
}
"""Every system by its name in the table, and whether it is tuned."""


def best_of(
    system: System, parts: tuple[QueryDataset, QueryDataset, QueryDataset], trials: int
) -> AppendResult:
    """Return the outcome of the settings that are best on the validation part."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=0, n_startup_trials=4)
    )
    known = system.documented
    study.enqueue_trial({name: known[name] for name in system.space if name in known})
    best: AppendResult | None = None
    kept: dict[str, Any] = {}
    seconds = 0.0
    for _ in range(trials):
        trial = study.ask()
        chosen = {name: suggested(trial, name, search) for name, search in system.space.items()}
        found = system.train(*parts, {**known, **chosen})
        reached = rl.evaluate(parts[1], found.valid, METRIC)[METRIC]
        if best is None or reached > study.best_value:
            best, kept = found, chosen
        study.tell(trial, reached)
        seconds += found.seconds
    assert best is not None
    if system.last:
        best = system.train(*parts, {**known, **kept, **system.last})
        seconds += best.seconds
    return AppendResult(best.valid, best.test, seconds)


def suggested(trial: Any, name: str, search: Search) -> Any:
    if isinstance(search, OneOf):
        return trial.suggest_categorical(name, list(search.values))
    if search.whole:
        return trial.suggest_int(name, int(search.low), int(search.high), log=search.log)
    return trial.suggest_float(name, search.low, search.high, log=search.log)
