"""A user's program, checked with the types that the package ships; it is never run."""

from typing import TYPE_CHECKING, assert_type

import numpy as np

import rankloop as rl
from rankloop.client import Client

if TYPE_CHECKING:
    from numpy.typing import NDArray


def learn() -> None:
    """Train, measure, save and load."""
    data = rl.read("train.parquet")
    assert_type(data, rl.QueryDataset)
    ranker = rl.Slam(measure="nDCG@10", average=True).fit(data)
    assert_type(ranker, rl.Slam)
    auto = rl.Auto().fit(np.zeros((4, 2)), [0, 1, 0, 1], qid=[1, 1, 2, 2])
    assert_type(auto, rl.Auto)
    for query in data:
        ranking = auto.rank(query)
        assert_type(ranking, rl.Ranking)
        auto.learn(query.X, query.y)
    scores: NDArray[np.float32 | np.float64] = auto.predict(data)
    quality = rl.evaluate(data, scores, ["nDCG@10", "AP", rl.nDCG @ 5])
    assert_type(quality["nDCG@10"], float)
    auto.save("model.rlm")
    model = rl.load("model.rlm")
    model.predict(data)


def ask(client: Client) -> list[str]:
    """Rank two items."""
    answer = client.rank({"a": [1.0], "b": {"price": 0.0}}, k=1)
    return list(answer.ids)
