"""Wang et al., SOLAR: scalable online learning algorithms for ranking."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from rankloop.experiments.papers.declaration import (
    Claim,
    Estimate,
    Experiment,
    ExperimentPart,
    FigureCurve,
    PartResult,
    row,
)
from rankloop.experiments.papers.protocols import by_folds, online, with_claims
from rankloop.measures.conventions import CONVENTIONS
from rankloop.rankers.registry import make_ranker
from rankloop.rankers.search import Range

if TYPE_CHECKING:
    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting
    from rankloop.rankers.search import Search

PAPER = "Wang et al.: SOLAR, scalable online learning algorithms for ranking"
MEASURES = ("nDCG@1", "nDCG@5", "nDCG@10")
RANKERS = {
    "PRank pointwise": ["prank:clip=0"],
    "PRank pairwise": ["pairwise:clip=0"],
    "Committee": ["committee:clip=0"],
    "SOLAR-I": ["solar-i"],
    "SOLAR-II": ["solar-ii:clip=0"],
}
IN_FILE_ORDER = {
    **RANKERS,
    "PRank pairwise": ["pairwise:pair_order=rows,clip=0"],
    "Committee": ["committee:pair_order=rows,clip=0"],
}
"""The order of pairs that gives the published rows where documents come in file order: the worse
document in the outer loop. It was found by search; the paper does not give its own."""
# by data set: nDCG@1, @5 and @10 of the rankers above
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


def _table_2() -> tuple[ExperimentPart, ...]:
    parts = []
    for name, rows in TABLE_2.items():
        rule = CONVENTIONS["letor3"] if name in _LETOR else _EMPTY_0
        expected = {}
        for ranker, values in zip(RANKERS, rows, strict=True):
            tolerance = 0.01 if ranker.startswith("SOLAR") else 0.03
            expected.update(row(ranker, " ".join(MEASURES), values, tolerance))
        for part, rankers, shuffle in (
            (f"{name}, shuffled", RANKERS, True),
            (f"{name}, file order", IN_FILE_ORDER, False),
        ):
            run = online(rankers, MEASURES, rule, 10, shuffle=shuffle)
            parts.append(ExperimentPart(part, run, expected, name, rule.name, seconds=20))
    return tuple(parts)


TABLE_2_ONLINE = Experiment(
    "solar-table2",
    PAPER,
    "Table 2",
    "Online nDCG of SOLAR, PRank and the committee perceptron; one pass, 10 permutations.",
    _table_2(),
    "PRank pairwise depends on the order of the pairs inside a query, which the paper does not "
    "give. On OHSUMED with shuffled documents, nDCG@10 is .236 if pairs with better grades come "
    "first, .31 if pairs come at random, and .20 with averaged weights. With documents in file "
    "order and the worse document in the outer loop it is .391 (published .390), and every row "
    "of both data sets is OK. We found this order by search. It is not a fair protocol: "
    "OHSUMED's file order alone has .400.",
)


# by data set: nDCG@1, @5 and @10; the batch rows are LETOR's own
BATCH = ("RankSVM", "AdaRank-NDCG", "RankBoost", "ListNet")
TABLE_3 = {
    "OHSUMED": (
        ".4958 .4164 .4140", ".5330 .4673 .4496", ".4632 .4494 .4302", ".5326 .4432 .4410",
        ".5111 .4668 .4497", ".5397 .4690 .4490",
    ),
    "MQ2007": (
        ".4096 .4142 .4438", ".3876 .4102 .4369", ".4134 .4183 .4464", ".4002 .4170 .4440",
        ".3886 .4101 .4361", ".4104 .4149 .4435",
    ),
    "MQ2008": (
        ".3626 .4695 .2279", ".3826 .4821 .2307", ".3856 .4666 .2255", ".3754 .4747 .2303",
        ".3677 .4634 .5086", ".3720 .4771 .5171",
    ),
    "HP2003": (
        ".6933 .7954 .8077", ".7133 .8006 .8050", ".6667 .8034 .8171", ".7200 .8298 .8372",
        ".7067 .8036 .8056", ".7000 .8068 .8137",
    ),
    "HP2004": (
        ".5733 .7512 .7687", ".5867 .7920 .8057", ".5067 .7211 .7428", ".6000 .7694 .7845",
        ".5467 .7325 .7544", ".5733 .7394 .7640",
    ),
    "NP2003": (
        ".5800 .7823 .8003", ".5600 .7447 .7672", ".6000 .7818 .8068", ".5667 .7843 .8018",
        ".5800 .7664 .7935", ".5667 .7691 .7917",
    ),
    "NP2004": (
        ".5067 .7957 .8062", ".5067 .7122 .7384", ".4267 .6512 .6914", ".5333 .7965 .8128",
        ".5733 .7814 .7976", ".5733 .7830 .8013",
    ),
    "TD2003": (
        ".3200 .3621 .3461", ".3600 .2939 .3036", ".2800 .3149 .3122", ".4000 .3393 .3484",
        ".2600 .3060 .3071", ".3000 .3652 .3462",
    ),
    "TD2004": (
        ".4133 .3240 .3078", ".4267 .3514 .3163", ".5067 .3878 .3504", ".3600 .3325 .3175",
        ".3600 .3119 .3049", ".3333 .3167 .3056",
    ),
}  # fmt: skip
_BY_FOLDS = {
    "RankSVM": "ranksvm",
    "AdaRank-NDCG": "adarank",
    "RankBoost": "rankboost",
    "ListNet": "listnet",
    "SOLAR-I": "solar-i",
    "SOLAR-II": "solar-ii:clip=0",
}


# section 5.3.1: C from 10^-6.5 to 10^-3.5, gamma from 10^3 to 10^6
_GRIDS: dict[str, dict[str, Search]] = {
    "SOLAR-I": {"C": Range(10**-6.5, 10**-3.5, 7, log=True)},
    "SOLAR-II": {"gamma": Range(1e3, 1e6, 7, log=True)},
}


def _table_3() -> tuple[ExperimentPart, ...]:
    """LETOR 4's script gives a list shorter than 10 no nDCG@10; SOLAR's rows do not follow it."""
    parts = []
    for name, rows in TABLE_3.items():
        letor = "letor4" if name in _LETOR else "letor3"
        expected = {}
        for ranker, values in zip(_BY_FOLDS, rows, strict=True):
            expected.update(row(ranker, " ".join(MEASURES), values, (0.03, 0.01, 0.01)))
        rules = {n: letor if n in BATCH else "letor3" for n in _BY_FOLDS}
        run = by_folds(_BY_FOLDS, MEASURES, rules, chosen_by="nDCG@10", grids=_GRIDS)
        shown = letor if letor == "letor3" else "letor4 for LETOR's rows, letor3 for SOLAR's"
        parts.append(ExperimentPart(name, run, expected, name, shown, seconds=120))
    return tuple(parts)


TABLE_3_BATCH = Experiment(
    "solar-table3",
    PAPER,
    "Table 3",
    "SOLAR and LETOR's batch rankers; five folds, parameters chosen on validation data.",
    _table_3(),
)


def _order(result: PartResult) -> dict[str, Estimate]:
    ap = {name: result.values[f"{name}, AP"] for name in RANKERS}
    others = max((name for name in RANKERS if "SOLAR" not in name), key=lambda n: ap[n].value)
    worse = min(("SOLAR-I", "SOLAR-II"), key=lambda n: ap[n].value)
    return {
        "SOLAR-II ahead of SOLAR-I": ap["SOLAR-II"].minus(ap["SOLAR-I"]),
        "SOLAR ahead of the others": ap[worse].minus(ap[others]),
    }


FIGURE_2 = Experiment(
    "solar-fig2",
    PAPER,
    "Figure 2",
    "Mean AP along the stream: both versions of SOLAR are ahead of the others.",
    tuple(
        ExperimentPart(
            name,
            with_claims(online(RANKERS, ["AP"], "letor3", 10), _order),
            {
                "SOLAR-II ahead of SOLAR-I": Claim(above=0, slack=0.005),
                "SOLAR ahead of the others": Claim(above=0, slack=0.005),
            },
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


def _scalability(source: Source, setting: Setting) -> PartResult:
    """Measure the processor time of the first n queries: online continues, RankSVM restarts."""
    data = source.data
    at = np.unique(np.linspace(len(data) / 8, len(data), setting.pick(8, 3)).astype(int))
    seconds: dict[str, list[float]] = {"SOLAR-I": [], "SOLAR-II": [], "RankSVM": []}
    online_rankers = {"SOLAR-I": make_ranker("solar-i"), "SOLAR-II": make_ranker("solar-ii:clip=0")}
    seen = 0
    for n in at:
        for name, ranker in online_rankers.items():
            start = time.process_time()
            ranker.partial_fit(data.select(slice(seen, int(n))))  # type: ignore[attr-defined]
            before = seconds[name][-1] if seconds[name] else 0.0
            seconds[name].append(before + time.process_time() - start)
        start = time.process_time()
        make_ranker("ranksvm").fit(data.select(slice(0, int(n))))
        before = seconds["RankSVM"][-1] if seconds["RankSVM"] else 0.0
        seconds["RankSVM"].append(before + time.process_time() - start)
        seen = int(n)
    ratio = seconds["RankSVM"][-1] / seconds["SOLAR-I"][-1]
    note = f"RankSVM, trained anew {len(at)} times, took {ratio:.0f} times as long as SOLAR-I"
    x = at.astype(float).tolist()
    return PartResult(
        {"RankSVM's time over SOLAR-I's": Estimate(ratio)},
        {"seconds so far": [FigureCurve(name, x, values) for name, values in seconds.items()]},
        ("queries received", "seconds"),
        (note,),
    )


FIGURE_3 = Experiment(
    "solar-fig3",
    PAPER,
    "Figure 3",
    "The time to keep up with a stream: SOLAR, and RankSVM trained again and again.",
    (
        ExperimentPart(
            "MQ2008",
            _scalability,
            {"RankSVM's time over SOLAR-I's": Claim(above=100)},
            "MQ2008",
            seconds=10,
        ),
    ),
    "The paper timed a RankSVM that works on listed pairs, and finds SOLAR more than 100 times as "
    "fast. Our RankSVM solves the same problem from sorted scores and never lists a pair, so it is "
    "much faster than the one of the paper. A plain Newton solver over listed pairs, 80,925 of "
    "them at the end, which finds the same weights, took 75 to 139 times as long as SOLAR-I (four "
    "runs).",
)

EXPERIMENTS = (TABLE_2_ONLINE, TABLE_3_BATCH, FIGURE_2, FIGURE_3)
