"""The experiments of XE_NDCG that grow trees."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.clicks.cascade import cascade_clicks, click_probabilities
from rankloop.data.perturb import add_negatives, perturb_grades
from rankloop.data.simulate import mslr_like
from rankloop.experiments.compare import compare_learners
from rankloop.experiments.fold_source import Trials
from rankloop.experiments.papers.declaration import (
    Claim,
    Curve,
    Experiment,
    Found,
    Measured,
    Part,
    Published,
    row,
)
from rankloop.learners.boosting.lambdamart import LambdaMART
from rankloop.learners.boosting.listnet import ListNetBoost
from rankloop.learners.boosting.xendcg import XENDCGBoost
from rankloop.metrics.evaluation import evaluate
from rankloop.metrics.significance import paired_t

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting
    from rankloop.learners.batch.base import Round
    from rankloop.learners.boosting.base import BoostedRanker
    from rankloop.losses.base import Floats

PAPER = "Bruch: an alternative cross entropy loss for learning-to-rank"
MEASURES = ("nDCG@5", "nDCG@10")
ORDER = (("XE_NDCG", "LambdaMART"), ("LambdaMART", "ListNet"))
# nDCG@5 and @10 of ListNet, LambdaMART and XE_NDCG
_TABLE_1 = {
    "MSLR": (".4768 .4976", ".4808 .4994", ".4823 .5027"),
    "Yahoo": (".7176 .7652", ".7300 .7749", ".7337 .7784"),
}
# leaves of a tree, and documents in a leaf: section 5.2
_SHAPES = {"MSLR": (400, 50), "simulated": (400, 50), "Yahoo": (200, 100)}
_STAND_IN = 300  # queries
_TRIALS = {"MQ2008": 50, "OHSUMED": 50}  # small ones; 10 of others


def _learners(data: str, setting: Setting, gamma: str = "random") -> dict[str, BoostedRanker]:
    """Return the three learners as section 5.2 sets them; on other data our leaves."""
    leaves, least = _SHAPES.get(data, (None, None))
    settings: dict[str, Any] = {
        "trees": setting.pick(500, 10),
        "rate": 0.02,
        "leaves": leaves,
        "min_data_in_leaf": least,
        "params": {"min_sum_hessian_in_leaf": 0},
        "metric": "nDCG@5",
    }
    return {
        "ListNet": ListNetBoost(**settings),
        "LambdaMART": LambdaMART(normalise=False, **settings),
        "XE_NDCG": XENDCGBoost(gamma, **settings),
    }


def _data(source: Source, setting: Setting) -> QueryDataset:
    if source.kind == "own":  # as MSLR, whatever is at hand
        rng = np.random.default_rng(setting.seed)
        return mslr_like(setting.pick(_STAND_IN, 60), rng, mean_length=40).data
    return source.quick_data if setting.quick else source.data


def _trials(source: Source, setting: Setting) -> Found:
    learners = _learners(source.name, setting, f"best-of-{setting.pick(10, 2)}")
    standings = compare_learners(
        _data(source, setting),
        learners,
        MEASURES,
        trials=Trials(setting.pick(_TRIALS.get(source.name, 10), 2)),
        seed=setting.seed,
        search=False,
    )
    rows = {(r.learner, r.metric): r for r in standings.rows}
    values: dict[str, Measured] = {}
    notes: list[str] = []
    for measure in MEASURES:
        means = {name: rows[name, measure] for name in learners}
        for name, found in means.items():
            values[f"{name}, {measure}"] = Measured(found.mean, found.std)
        for first, second in ORDER:
            ahead, behind = means[first].fold_means, means[second].fold_means
            gaps = np.subtract(ahead, behind)
            error = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
            values[f"{first} ahead of {second}, {measure}"] = Measured(float(gaps.mean()), error)
            p = paired_t(np.array(ahead), np.array(behind))
            notes.append(
                f"{measure}, {first} - {second}: {gaps.mean():+.4f}, "
                f"ahead in {(gaps > 0).sum()} of {len(gaps)} trials, paired t-test p = {p:.2g}"
            )
    return Found(values, {}, ("", ""), tuple(notes))


def _table_1() -> tuple[Part, ...]:
    parts = []
    for name in ("MSLR", "Yahoo", "MQ2008", "OHSUMED", "simulated"):
        expected: dict[str, Published | Claim] = {
            f"{first} ahead of {second}, {measure}": Claim(0.005)
            for measure in MEASURES
            for first, second in ORDER
        }
        for learner, values in zip(
            ("ListNet", "LambdaMART", "XE_NDCG"), _TABLE_1.get(name, ()), strict=False
        ):
            expected.update(row(learner, " ".join(MEASURES), values, 0.01))
        data = None if name == "simulated" else name
        parts.append(Part(name, _trials, expected, data, stand_in=_STAND_IN, seconds=800))
    return tuple(parts)


TABLE_1 = Experiment(
    "xendcg-table1",
    PAPER,
    "Table 1",
    "Random 60/20/20 splits: ListNet behind LambdaMART behind XE_NDCG.",
    _table_1(),
    "On all but OHSUMED XE_NDCG is ahead of LambdaMART, but LambdaMART not of ListNet; on OHSUMED "
    "it is the other way round. There are 54 to 470 queries to learn from, not 18,000, and with "
    "the published settings (many leaves, no ridge, lambdas not normalised) LambdaMART fits their "
    "noise. Normalised lambdas take back .004 of its .007 at nDCG@10 on MQ2008 (20 trials); on "
    "simulated data with 40 features and 31 leaves the published order holds (nDCG@5 .655, .668, "
    ".670 after 60 queries and .693, .696, .700 after 300; 3 draws).",
)


def _split(data: QueryDataset, seed: int) -> tuple[QueryDataset, QueryDataset, QueryDataset]:
    return Trials(1).parts(data, seed, 0)


def _convergence(source: Source, setting: Setting) -> Found:
    pair = ("LambdaMART", "XE_NDCG")
    trees = setting.pick(500, 10)
    reached = np.full((setting.pick(5, 2), len(pair), trees), np.nan)
    for trial, of_trial in enumerate(reached):
        train, valid, _ = _split(_data(source, setting), setting.seed + trial)
        learners = _learners(source.name, setting)
        for name, values in zip(pair, of_trial, strict=True):

            def keep(done: Round, values: Floats = values) -> None:
                values[done.number - 1 :] = done.valid  # trees that stop growing keep their value

            learners[name].set_params(patience=None).fit(train, valid=valid, on_round=keep)
    early = reached[:, :, : max(trees // 10, 1)].mean(axis=2)
    gaps = early[:, 1] - early[:, 0]
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
    axis = np.arange(1.0, trees + 1).tolist()
    curves = zip(pair, reached.mean(axis=0), strict=True)
    return Found(
        {"XE_NDCG ahead in the first tenth of the trees": Measured(float(gaps.mean()), error)},
        {"nDCG@5 on validation data": [Curve(name, axis, y.tolist()) for name, y in curves]},
        ("trees", "nDCG@5"),
    )


FIGURE_2 = Experiment(
    "xendcg-fig2",
    PAPER,
    "Figure 2",
    "With few trees XE_NDCG is ahead of LambdaMART on validation data.",
    tuple(
        Part(
            name,
            _convergence,
            {"XE_NDCG ahead in the first tenth of the trees": Claim(0.005)},
            name,
            stand_in=_STAND_IN,
            seconds=140,
        )
        for name in ("MSLR", "Yahoo")
    ),
)


def _robust(
    source: Source,
    setting: Setting,
    *,
    noise: Callable[[QueryDataset, float, np.random.Generator], QueryDataset],
    levels: tuple[float, ...],
    axis: str,
) -> Found:
    """Train and validate on noisy data, test on clean data."""
    pair = ("LambdaMART", "XE_NDCG")
    shown = (levels[0], levels[-1]) if setting.quick else levels
    reached = np.empty((setting.pick(5, 2), len(shown), len(pair)))
    for trial, level in np.ndindex(reached.shape[:2]):
        rng = np.random.default_rng([setting.seed, trial])
        train, valid, test = _split(_data(source, setting), setting.seed + trial)
        train, valid = (noise(part, shown[level], rng) for part in (train, valid))
        test = test.shuffled(rng)
        learners = _learners(source.name, setting)
        for k, name in enumerate(pair):
            model = learners[name].fit(train, valid=valid)
            reached[trial, level, k] = evaluate(test, model.predict(test), "nDCG@5")["nDCG@5"]
    gaps = reached[:, :, 1] - reached[:, :, 0]
    errors = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    more = gaps[:, -1] - gaps[:, 0]
    worst = int(gaps.mean(axis=0).argmin())
    curves = [
        Curve(name, list(shown), reached[:, :, k].mean(axis=0).tolist())
        for k, name in enumerate(pair)
    ]
    return Found(
        {
            "LambdaMART loses more to noise": Measured(
                float(more.mean()), float(more.std(ddof=1) / np.sqrt(len(more)))
            ),
            "XE_NDCG ahead at every level": Measured(
                float(gaps.mean(axis=0)[worst]), float(errors[worst])
            ),
        },
        {"nDCG@5": curves},
        (axis, "nDCG@5 on clean test data"),
        tuple(
            f"{axis} {level:g}: XE_NDCG - LambdaMART {gap:+.4f} +- {error:.4f}"
            for level, gap, error in zip(shown, gaps.mean(axis=0), errors, strict=True)
        ),
    )


def _clicks(data: QueryDataset, level: float, rng: np.random.Generator) -> QueryDataset:
    return cascade_clicks(data, rng, probabilities=click_probabilities(noise=level))


def _robustness(
    noise: Callable[[QueryDataset, float, np.random.Generator], QueryDataset],
    levels: tuple[float, ...],
    axis: str,
    claim: str,
    kind: str,
) -> list[Part]:
    run = partial(_robust, noise=noise, levels=levels, axis=axis)
    return [
        Part(f"{name}, {kind}", run, {claim: Claim(0.005)}, name, stand_in=_STAND_IN, seconds=500)
        for name in ("MSLR", "Yahoo")
    ]


FIGURE_3 = Experiment(
    "xendcg-fig3",
    PAPER,
    "Figure 3",
    "More negatives, or grades replaced at random, harm LambdaMART more than XE_NDCG.",
    (
        *_robustness(
            add_negatives,
            (0.0, 0.2, 0.4, 0.6, 0.8),
            "negatives added, as a share",
            "LambdaMART loses more to noise",
            "negatives",
        ),
        *_robustness(
            perturb_grades,
            (0.0, 0.1, 0.2, 0.3, 0.4),
            "grades replaced, as a share",
            "LambdaMART loses more to noise",
            "grades",
        ),
    ),
)
FIGURE_4 = Experiment(
    "xendcg-fig4",
    PAPER,
    "Figure 4",
    "Trained on simulated clicks, XE_NDCG is ahead for every level of noise.",
    tuple(
        _robustness(
            _clicks,
            (0.0, 0.05, 0.1, 0.15, 0.2),
            "click probability added to grade 0",
            "XE_NDCG ahead at every level",
            "clicks",
        )
    ),
    "On the sample of MSLR XE_NDCG is ahead at the four lower levels of noise. At the highest one "
    "the clicks on 54 queries teach next to nothing: both are near a random order, and the "
    "difference is about its error over 5 trials.",
)

EXPERIMENTS = (TABLE_1, FIGURE_2, FIGURE_3, FIGURE_4)
