"""Learn from a click log: how far people look, what clicks teach, what a new ranker is worth.

The log is what a weak ranker showed and what people clicked on; nobody judged anything. Judgements
are used at the end, to see how right the log was.
"""

from __future__ import annotations

import numpy as np
from collection import parts

import rankloop as rl
from rankloop.clicks.bias.harvesting import AllPairs
from rankloop.clicks.bias.result import estimate_bias
from rankloop.clicks.corrections import InversePropensity, training_data
from rankloop.clicks.log.simulate import simulate_log
from rankloop.clicks.offpolicy.estimators import IPS
from rankloop.clicks.offpolicy.evaluate import evaluate_policy
from rankloop.clicks.offpolicy.examination import Examination
from rankloop.clicks.offpolicy.target import TargetPages
from rankloop.clicks.users import ultra_user


def main() -> None:
    """Log, estimate, train, value, check."""
    train, _, test = parts()
    scaler = rl.data.QueryMinMax().fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    train = rl.QueryDataset.from_arrays(train.X, train.y, group=train.sizes)  # rows are the ids
    qualities = [rl.evaluate(train, column)["nDCG@10"] for column in train.X.T]
    weak = int(np.argsort(qualities)[len(qualities) // 2])  # a middling feature ranks today

    rng = np.random.default_rng(1)
    log = simulate_log(train, train.X[:, weak], ultra_user(), rng, impressions=20, noise=0.3)
    print(log)
    examination = Examination.of(estimate_bias(AllPairs(10), log))
    print("examination of places 1, 2, 5, 10:", examination.slopes[[0, 1, 4, 9]].round(2))

    shown = train.X[log.document_ids[log.documents]]
    rankings = {"the ranker that logged": test.X[:, weak]}
    for name, correction in {
        "naive clicks": None,
        "corrected clicks": InversePropensity(examination),
    }.items():
        ranker = rl.RankSVM().fit(training_data(log, shown, correction))
        rankings[name] = ranker.predict(test)
        target = TargetPages.by_scores(log, ranker.predict(shown))
        value = evaluate_policy(log, target, IPS(examination), "clicks")
        print(
            f"{name}: {value.value:.2f} clicks a page expected, {value.low:.2f} to {value.high:.2f}"
        )
    print("\nnDCG@10 by judgements, which the log has never seen:")
    for name, scores in rankings.items():
        print(f"  {name:24} {rl.evaluate(test, scores)['nDCG@10']:.4f}")


if __name__ == "__main__":
    main()
