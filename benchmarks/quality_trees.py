"""Quality of boosted trees beside the tools people use, over five folds.

`python -m benchmarks.quality_trees DATA [--sets MQ2008 ...] [--systems NAME ...] [--json FILE]`,
where DATA holds MQ2008, OHSUMED and MSLR-sample. A model has at most 500 trees at rate .05 and
stops early by nDCG@10 on the validation part (50 rounds); else all have their defaults: ours
follow the number of documents, those of peers do not. `blend` has six such models, thus six times
the trees; `ranksvm` chooses C among 11 on the validation part; the best single one of ours is
chosen on it in each fold. nDCG@10 is by the standard convention, documents shuffled. Results are
kept in FILE after each fold: a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rankloop as rl
from rankloop.data.io.files import replaced_when_done
from rankloop.learners.boosting.base import BoostedRanker
from rankloop.learners.ensembles.blend import default_members
from rankloop.learners.search import grid
from rankloop.metrics.significance import paired_t

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

    Scores = NDArray[Any]
    System = Callable[[QueryDataset, QueryDataset, QueryDataset], tuple[Scores, Scores]]

TREES, RATE, PATIENCE, FOLDS, METRIC = 500, 0.05, 50, 5, "nDCG@10"
BUDGET: dict[str, Any] = {"trees": TREES, "rate": RATE, "patience": PATIENCE}


def folds(folder: Path, name: str) -> Iterator[tuple[QueryDataset, QueryDataset, QueryDataset]]:
    """Give training, validation and test parts, documents shuffled."""
    if (folder / name / "Fold1").is_dir():
        parts = [fold.read() for fold in rl.data.letor_folds(folder / name)]
    else:
        files = [folder / name / f"{part}.txt" for part in ("train", "vali", "test")]
        whole = rl.data.concat([rl.read(file) for file in files])
        fifths = np.array_split(np.random.default_rng(0).permutation(len(whole)), FOLDS)
        parts = []
        for k in range(FOLDS):
            turned = fifths[k:] + fifths[:k]
            chosen = np.concatenate(turned[:3]), turned[3], turned[4]
            parts.append(tuple(whole.select(np.sort(rows)) for rows in chosen))
    rng = np.random.default_rng(1)
    for fold in parts:
        train, valid, test = (part.shuffled(rng) for part in fold)
        yield train, valid, test


def ours(ranker: Any) -> System:
    def run(train: QueryDataset, valid: QueryDataset, test: QueryDataset) -> tuple[Scores, Scores]:
        model = ranker.fit(train, valid=valid)
        return model.predict(valid), model.predict(test)

    return run


def ranksvm(train: QueryDataset, valid: QueryDataset, test: QueryDataset) -> tuple[Scores, Scores]:
    train, valid, test = (rl.data.QueryMinMax().transform(part) for part in (train, valid, test))
    settings = grid(rl.RankSVM.search_space)
    models = list(rl.RankSVM().fit_path(train, settings))
    best = max(models, key=lambda model: rl.evaluate(valid, model.predict(valid), METRIC)[METRIC])
    return best.predict(valid), best.predict(test)


def lightgbm(objective: str) -> System:
    def run(train: QueryDataset, valid: QueryDataset, test: QueryDataset) -> tuple[Scores, Scores]:
        import lightgbm as lgb

        params = {"objective": objective, "learning_rate": RATE, "metric": "ndcg", "eval_at": [10]}
        data, watched = (lgb.Dataset(d.X, d.y, group=d.sizes) for d in (train, valid))
        model = lgb.train(
            {**params, "verbosity": -1, "num_threads": 1, "seed": 0},
            data,
            TREES,
            valid_sets=[watched],
            callbacks=[lgb.early_stopping(PATIENCE, verbose=False)],
        )
        return np.asarray(model.predict(valid.X)), np.asarray(model.predict(test.X))

    return run


def xgboost(train: QueryDataset, valid: QueryDataset, test: QueryDataset) -> tuple[Scores, Scores]:
    import xgboost as xgb

    params = {"objective": "rank:ndcg", "eta": RATE, "eval_metric": "ndcg@10", "nthread": 1}
    data, watched = (
        xgb.DMatrix(d.X, d.y, qid=np.repeat(np.arange(len(d)), d.sizes)) for d in (train, valid)
    )
    model = xgb.train(
        {**params, "seed": 0},
        data,
        TREES,
        evals=[(watched, "valid")],
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    until = (0, model.best_iteration + 1)
    found = [model.predict(xgb.DMatrix(d.X), iteration_range=until) for d in (valid, test)]
    return found[0], found[1]


def catboost(train: QueryDataset, valid: QueryDataset, test: QueryDataset) -> tuple[Scores, Scores]:
    import catboost as cb

    pools = [
        cb.Pool(d.X, d.y, group_id=np.repeat(np.arange(len(d)), d.sizes))
        for d in (train, valid, test)
    ]
    model = cb.CatBoost(
        {
            "loss_function": "YetiRank",
            "eval_metric": "NDCG:top=10;type=Exp",
            "iterations": TREES,
            "learning_rate": RATE,
            "od_wait": PATIENCE,
            "od_type": "Iter",
            "thread_count": 1,
            "random_seed": 0,
            "verbose": False,
            "allow_writing_files": False,
        }
    )
    model.fit(pools[0], eval_set=pools[1], use_best_model=True)
    return model.predict(pools[1]), model.predict(pools[2])


def blend(trees: bool = True) -> System:
    def run(train: QueryDataset, valid: QueryDataset, test: QueryDataset) -> tuple[Scores, Scores]:
        members = default_members(train)
        grown = [m.set_params(**BUDGET) for m in members if isinstance(m, BoostedRanker)]
        linear = [m for m in members if not isinstance(m, BoostedRanker)]
        return ours(rl.Blend([*linear, *(grown if trees else ())]))(train, valid, test)

    return run


OURS: dict[str, Callable[[], System]] = {
    "lambdamart": lambda: ours(rl.LambdaMART(**BUDGET)),
    "xendcg-boost": lambda: ours(rl.XENDCGBoost(**BUDGET)),
    "listnet-boost": lambda: ours(rl.learners.ListNetBoost(**BUDGET)),
    "ranksvm": lambda: ranksvm,
    "blend, its linear half": lambda: blend(trees=False),
    "blend": lambda: blend(),
}
PEERS: dict[str, Callable[[], System]] = {
    "LightGBM lambdarank": lambda: lightgbm("lambdarank"),
    "LightGBM rank_xendcg": lambda: lightgbm("rank_xendcg"),
    "XGBoost rank:ndcg": lambda: xgboost,
    "CatBoost YetiRank": lambda: catboost,
}
SYSTEMS = {**OURS, **PEERS}
SETS = ("MQ2008", "OHSUMED", "MSLR-sample")


def values(data: QueryDataset, scores: Scores) -> list[float | None]:
    found = rl.evaluate(data, scores, METRIC).results[0].values
    return [None if np.isnan(value) else float(value) for value in found]


def run(folder: Path, names: list[str], systems: list[str], file: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for name in names:
        for k, (train, valid, test) in enumerate(folds(folder, name)):
            for system in systems:
                done = results.setdefault(name, {}).setdefault(system, {})
                if str(k) in done:
                    continue
                on_valid, on_test = SYSTEMS[system]()(train, valid, test)
                done[str(k)] = {"valid": values(valid, on_valid), "test": values(test, on_test)}
                print(name, k, system, f"{np.nanmean(pooled({k: done[str(k)]})):.4f}", flush=True)
                with replaced_when_done(file) as partial:
                    partial.write_text(json.dumps(results))
    return results


def pooled(folds_of: dict[Any, Any], part: str = "test") -> NDArray[np.float64]:
    return np.array([v for k in sorted(folds_of) for v in folds_of[k][part]], np.float64)


def table(results: dict[str, Any]) -> str:
    lines = []
    for name, of in results.items():
        whole = {s: f for s, f in of.items() if len(f) == FOLDS}
        mine = [s for s in whole if s in OURS and not s.startswith("blend")]
        if mine:
            keys = whole[mine[0]].keys()
            chosen = {
                k: max(mine, key=lambda s: np.nanmean(pooled({k: whole[s][k]}, "valid")))
                for k in keys
            }
            whole["best single one of ours"] = {k: whole[s][k] for k, s in chosen.items()}
        test = {s: pooled(f) for s, f in whole.items()}
        test = {s: v[~np.isnan(v)] for s, v in test.items()}
        peers = [s for s in test if s in PEERS]
        best = max(peers, key=lambda s: test[s].mean()) if peers else None
        lines += [f"\n{name}: {METRIC} over {FOLDS} folds, best peer {best}"]
        for system, v in sorted(test.items(), key=lambda item: -item[1].mean()):
            error = v.std(ddof=1) / np.sqrt(len(v))
            line = f"  {system:28s} {v.mean():.4f} ± {error:.4f}"
            if best is not None and system != best:
                difference = v - test[best]
                line += f"   {difference.mean():+.4f}, p = {paired_t(v, test[best]):.3f}"
            lines.append(line)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality_trees", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--json", type=Path, default=Path("out/quality_trees.json"))
    chosen = parser.parse_args()
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    print(table(run(chosen.data, chosen.sets, chosen.systems, chosen.json)))


if __name__ == "__main__":
    main()
