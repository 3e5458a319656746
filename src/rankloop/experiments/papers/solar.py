"""Wang et al., SOLAR: scalable online learning algorithms for ranking."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from rankloop.experiments.papers.declaration import (
    Claim,
    Curve,
    Experiment,
    Found,
    Measured,
    Part,
    row,
)
from rankloop.experiments.papers.protocols import online, with_claims
from rankloop.learners.registry import make_learner
from rankloop.metrics.conventions import CONVENTIONS

if TYPE_CHECKING:
    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting

PAPER = "Wang et al.: SOLAR, scalable online learning algorithms for ranking"
MEASURES = ("nDCG@1", "nDCG@5", "nDCG@10")
LEARNERS = {
    "PRank pointwise": ["prank"],
    "PRank pairwise": ["pairwise"],
    "Committee": ["committee"],
    "SOLAR-I": ["solar-i"],
    "SOLAR-II": ["solar-ii"],
}
# by data set: nDCG@1, @5 and @10 of the learners above
TABLE_2 = {
    "OHSUMED": (
        ".2689 .2253 .2221", ".4456 .3953 .3904", ".4327 .3993 .3934",
        ".5060 .4479 .4337", ".5352 .4635 .4461",
    ),
    "MQ2007": (
        ".2439 .2748 .3039", ".2777 .3010 .3294", ".3640 .3828 .4135",
        ".3760 .3973 .4271", ".3897 .4095 .4383",
    ),
    "MQ2008": (
        ".2369 .3352 .4036", ".2834 .3823 .4403", ".3378 .4415 .4885",
        ".3490 .4584 .5022", ".3594 .4680 .5107",
    ),
    "HP2003": (
        ".0033 .0047 .0050", ".5267 .6491 .6745", ".6487 .7744 .7884",
        ".6993 .7796 .7917", ".7020 .7959 .8079",
    ),
    "HP2004": (
        ".0053 .0083 .0088", ".5107 .6438 .6717", ".5640 .7163 .7392",
        ".5347 .7072 .7335", ".5413 .7146 .7419",
    ),
    "NP2003": (
        ".0033 .0051 .0075", ".4033 .5926 .6255", ".5227 .7146 .7417",
        ".5527 .7486 .7792", ".5693 .7621 .7895",
    ),
    "NP2004": (
        ".0080 .0100 .0100", ".4213 .6039 .6290", ".4867 .6989 .7226",
        ".5613 .7649 .7869", ".5627 .7667 .7858",
    ),
    "TD2003": (
        ".0040 .0063 .0056", ".1920 .1707 .1737", ".3300 .2717 .2635",
        ".2160 .2968 .2916", ".2960 .3251 .3245",
    ),
    "TD2004": (
        ".0040 .0018 .0025", ".2773 .2235 .2071", ".3427 .2988 .2794",
        ".2533 .2750 .2625", ".2893 .2874 .2806",
    ),
}  # fmt: skip
# The paper does not name its measure. On MQ2008 its values fit LETOR's discount, on OHSUMED the
# usual one with 0 for a query without a relevant document.
_LETOR = {"MQ2007", "MQ2008"}
_EMPTY_0 = CONVENTIONS["standard"].differing("standard, empty 0", empty=0.0)


def _table_2() -> tuple[Part, ...]:
    parts = []
    for name, rows in TABLE_2.items():
        rule = CONVENTIONS["letor3"] if name in _LETOR else _EMPTY_0
        expected = {}
        for learner, values in zip(LEARNERS, rows, strict=True):
            tolerance = 0.01 if learner.startswith("SOLAR") else 0.03
            expected.update(row(learner, " ".join(MEASURES), values, tolerance))
        run = online(LEARNERS, MEASURES, rule, 10)
        parts.append(Part(name, run, expected, name, rule.name, seconds=20))
    return tuple(parts)


TABLE_2_ONLINE = Experiment(
    "solar-table2",
    PAPER,
    "Table 2",
    "Online nDCG of SOLAR beside PRank and the committee perceptron, one pass, 10 permutations.",
    _table_2(),
)


def _order(found: Found) -> dict[str, float]:
    ap = {name: found.values[f"{name}, AP"].value for name in LEARNERS}
    others = max(ap[name] for name in LEARNERS if not name.startswith("SOLAR"))
    return {
        "SOLAR-II ahead of SOLAR-I": ap["SOLAR-II"] - ap["SOLAR-I"],
        "SOLAR ahead of the others": min(ap["SOLAR-I"], ap["SOLAR-II"]) - others,
    }


FIGURE_2 = Experiment(
    "solar-fig2",
    PAPER,
    "Figure 2",
    "Mean AP so far along the stream: both SOLAR ahead of the others.",
    tuple(
        Part(
            name,
            with_claims(online(LEARNERS, ["AP"], "letor3", 10), _order),
            {"SOLAR-II ahead of SOLAR-I": Claim(0.005), "SOLAR ahead of the others": Claim(0.005)},
            name,
            "letor3",
            seconds=15,
        )
        for name in (
            "OHSUMED",
            "MQ2007",
            "HP2003",
            "HP2004",
            "NP2003",
            "NP2004",
            "TD2003",
            "TD2004",
        )
    ),
)


def _scalability(source: Source, setting: Setting) -> Found:
    """Time to have learnt from the first n queries: online goes on, RankSVM starts again."""
    data = source.data
    at = np.unique(np.linspace(len(data) / 8, len(data), setting.pick(8, 3)).astype(int))
    seconds: dict[str, list[float]] = {"SOLAR-I": [], "SOLAR-II": [], "RankSVM": []}
    online_learners = {"SOLAR-I": make_learner("solar-i"), "SOLAR-II": make_learner("solar-ii")}
    seen = 0
    for n in at:
        for name, learner in online_learners.items():
            start = time.perf_counter()
            learner.partial_fit(data.select(slice(seen, int(n))))  # type: ignore[attr-defined]
            before = seconds[name][-1] if seconds[name] else 0.0
            seconds[name].append(before + time.perf_counter() - start)
        start = time.perf_counter()
        make_learner("ranksvm").fit(data.select(slice(0, int(n))))
        before = seconds["RankSVM"][-1] if seconds["RankSVM"] else 0.0
        seconds["RankSVM"].append(before + time.perf_counter() - start)
        seen = int(n)
    ratio = seconds["RankSVM"][-1] / seconds["SOLAR-I"][-1]
    note = (
        f"RankSVM, trained anew {len(at)} times, took {ratio:.0f} times as long as SOLAR-I; "
        "ours never lists a pair and is far faster than the one the paper timed"
    )
    x = at.astype(float).tolist()
    return Found(
        {"SOLAR-I faster than RankSVM": Measured(ratio - 1)},
        {"seconds so far": [Curve(name, x, values) for name, values in seconds.items()]},
        ("queries received", "seconds"),
        (note,),
    )


FIGURE_3 = Experiment(
    "solar-fig3",
    PAPER,
    "Figure 3",
    "Time to keep up with a stream: SOLAR against RankSVM trained anew.",
    (
        Part(
            "MQ2008",
            _scalability,
            {"SOLAR-I faster than RankSVM": Claim()},
            "MQ2008",
            seconds=10,
        ),
    ),
)

EXPERIMENTS = (TABLE_2_ONLINE, FIGURE_2, FIGURE_3)
