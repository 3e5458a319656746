"""The recipe for Ray on the page about scale: any ranker scores the queries of a Ray data set."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.io.tables.reading import from_table

ray = pytest.importorskip("ray")
pd = pytest.importorskip("pandas")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_scores_are_those_of_one_process(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    frame = frame.assign(qid=np.repeat(np.arange(5), 8), row=range(40))
    rows = from_table(frame.assign(label=frame["a"] > 0), drop=["row"])
    ranker = rl.XENDCG().fit(rows)
    content = ranker.dumps()

    def score(some):
        from rankloop.distributed.prediction import score_frame

        return some.assign(score=score_frame(some, rl.loads(content), {"query": "qid"}))

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        queries = ray.data.from_pandas(frame).groupby("qid")
        found = queries.map_groups(score, batch_format="pandas").to_pandas().sort_values("row")
    finally:
        ray.shutdown()
    np.testing.assert_array_equal(found["score"].to_numpy(), ranker.predict(rows))
