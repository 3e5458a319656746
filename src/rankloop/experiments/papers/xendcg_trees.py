"""The experiments of XE_NDCG that grow trees."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.cascade import cascade_clicks, click_probabilities
from rankloop.data.perturb import add_negatives, perturb_grades
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
from rankloop.learners.registry import make_learner
from rankloop.metrics.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting

PAPER = "Bruch: an alternative cross entropy loss for learning-to-rank"
MEASURES = ("nDCG@5", "nDCG@10")
_TEXTS = {"ListNet": "listnet-boost", "LambdaMART": "lambdamart", "XE_NDCG": "xendcg-boost"}
# nDCG@5 and @10 of ListNet, LambdaMART and XE_NDCG
_TABLE_1 = {
    "MSLR": (".4768 .4976", ".4808 .4994", ".4823 .5027"),
    "Yahoo": (".7176 .7652", ".7300 .7749", ".7337 .7784"),
}


def _learners(setting: Setting) -> dict[str, str]:
    trees = setting.pick(500, 10)
    return {name: f"{text}:trees={trees},metric=nDCG@5" for name, text in _TEXTS.items()}


def _data(source: Source, setting: Setting) -> QueryDataset:
    return source.quick_data if setting.quick else source.data


def _trials(source: Source, setting: Setting) -> Found:
    learners = _learners(setting)
    standings = compare_learners(
        _data(source, setting),
        list(learners.values()),
        MEASURES,
        trials=Trials(setting.pick(10, 2)),
        baseline=learners["LambdaMART"],
        seed=setting.seed,
        search=False,
    )
    rows = {(r.learner, r.metric): r for r in standings.rows}
    values: dict[str, Measured] = {}
    notes: list[str] = []
    for measure in MEASURES:
        means = {name: rows[text, measure] for name, text in learners.items()}
        for name, found in means.items():
            values[f"{name}, {measure}"] = Measured(found.mean, found.std)
        for first, second in (("XE_NDCG", "LambdaMART"), ("LambdaMART", "ListNet")):
            gaps = np.subtract(means[first].fold_means, means[second].fold_means)
            error = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
            values[f"{first} ahead of {second}, {measure}"] = Measured(float(gaps.mean()), error)
        notes.extend(
            f"{measure}: {name} against LambdaMART, p = {found.against.p_value:.3f}"
            for name, found in means.items()
            if found.against is not None
        )
    return Found(values, {}, ("", ""), tuple(notes))


def _order() -> dict[str, Claim]:
    return {
        f"{first} ahead of {second}, {measure}": Claim(0.005)
        for measure in MEASURES
        for first, second in (("XE_NDCG", "LambdaMART"), ("LambdaMART", "ListNet"))
    }


def _table_1() -> tuple[Part, ...]:
    parts = []
    for name in ("MSLR", "Yahoo", "MQ2008", "OHSUMED"):
        expected: dict[str, Published | Claim] = dict(_order())
        for learner, values in zip(_TEXTS, _TABLE_1.get(name, ()), strict=False):
            expected.update(row(learner, " ".join(MEASURES), values, 0.01))
        parts.append(Part(name, _trials, expected, name, stand_in=True, seconds=240))
    return tuple(parts)


TABLE_1 = Experiment(
    "xendcg-table1",
    PAPER,
    "Table 1",
    "Random 60/20/20 splits: ListNet behind LambdaMART behind XE_NDCG.",
    _table_1(),
)


def _split(data: QueryDataset, seed: int) -> tuple[QueryDataset, QueryDataset, QueryDataset]:
    return Trials(1).parts(data, seed, 0)


def _convergence(source: Source, setting: Setting) -> Found:
    train, valid, _ = _split(_data(source, setting), setting.seed)
    learners = _learners(setting)
    curves = []
    for name in ("LambdaMART", "XE_NDCG"):
        reached: list[float] = []
        ranker = make_learner(learners[name]).set_params(patience=None)
        ranker.fit(train, valid=valid, on_round=lambda r, to=reached: to.append(r.valid))  # type: ignore[call-arg]
        curves.append(Curve(name, np.arange(1.0, len(reached) + 1).tolist(), reached))
    few = max(len(curves[0].y) // 10, 1)
    early = float(np.mean(curves[1].y[:few]) - np.mean(curves[0].y[:few]))
    return Found(
        {"XE_NDCG ahead in the first tenth of the trees": Measured(early)},
        {"nDCG@5 on validation data": curves},
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
            stand_in=True,
            seconds=30,
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
    """Train on noisy data, validate on noisy data, test on clean data."""
    shown = (levels[0], levels[-1]) if setting.quick else levels
    learners = {name: _learners(setting)[name] for name in ("LambdaMART", "XE_NDCG")}
    means: dict[str, list[float]] = {name: [] for name in learners}
    for level in shown:
        reached: dict[str, list[float]] = {name: [] for name in learners}
        for trial in range(setting.pick(5, 1)):
            rng = np.random.default_rng([setting.seed, trial])
            train, valid, test = _split(_data(source, setting), trial)
            train, valid = noise(train, level, rng), noise(valid, level, rng)
            test = test.shuffled(rng)
            for name, text in learners.items():
                ranker = make_learner(text).fit(train, valid=valid)  # type: ignore[call-arg]
                reached[name].append(evaluate(test, ranker.predict(test), "nDCG@5")["nDCG@5"])
        for name, values in reached.items():
            means[name].append(float(np.mean(values)))
    lost = {name: values[0] - values[-1] for name, values in means.items()}
    gaps = np.subtract(means["XE_NDCG"], means["LambdaMART"])
    return Found(
        {
            "LambdaMART loses more to noise": Measured(lost["LambdaMART"] - lost["XE_NDCG"]),
            "XE_NDCG ahead at every level": Measured(float(gaps.min())),
        },
        {"nDCG@5": [Curve(name, list(shown), values) for name, values in means.items()]},
        (axis, "nDCG@5 on clean test data"),
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
        Part(f"{name}, {kind}", run, {claim: Claim(0.005)}, name, stand_in=True, seconds=120)
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
            (0.0, 0.4, 0.8),
            "negatives added, as a share",
            "LambdaMART loses more to noise",
            "negatives",
        ),
        *_robustness(
            perturb_grades,
            (0.0, 0.2, 0.4),
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
            (0.0, 0.1, 0.2),
            "click probability of grade 0, above .05",
            "XE_NDCG ahead at every level",
            "clicks",
        )
    ),
)

EXPERIMENTS = (TABLE_1, FIGURE_2, FIGURE_3, FIGURE_4)
