"""Spark learns the same linear model as Dask from the same parts, and scores what pandas scores."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.io.tables.reading import from_table
from rankloop.distributed import Parts, fit
from rankloop.distributed.spark import fit_on_spark, predict_on_spark
from rankloop.exceptions import DataError
from rankloop.rankers.wrappers.described import Described

pytest.importorskip("pyspark")
pd = pytest.importorskip("pandas")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
]


@pytest.fixture(scope="module")
def session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4)).astype(np.float32)
    rows = pd.DataFrame(X, columns=list("abcd")).assign(qid=np.repeat(np.arange(30), 8))
    return rows.assign(label=(X[:, 0] > 0.2).astype(int) + (X[:, 1] > 0.5))


def test_the_same_linear_model_as_dask(session, frame, client):
    from pyspark.sql.functions import spark_partition_id

    rows = session.createDataFrame(frame)
    found = fit_on_spark(rl.XENDCG(), rows, parts=3)
    numbered = rows.repartition(3, "qid").withColumn("part", spark_partition_id()).toPandas()
    parts = [
        from_table(part.drop(columns="part")) for _, part in numbered.groupby("part", sort=True)
    ]
    dask = fit(rl.XENDCG(), Parts(client, parts))
    assert found.digest() == dask.digest()
    alone = rl.XENDCG().fit(from_table(frame))
    np.testing.assert_allclose(found.weights_, alone.weights_, rtol=1e-3, atol=1e-5)
    assert found.n_queries_seen_ == 30


def test_scores_with_categories_and_missing_values(session, frame):
    rows = frame.assign(brand=[f"b{k % 5}" if k % 7 else None for k in range(len(frame))])
    ranker = Described(rl.XENDCG()).fit(from_table(rows, allow_nan=True))
    spark = session.createDataFrame(rows.assign(row=range(len(rows))).drop(columns="label"))
    found = predict_on_spark(ranker, spark).toPandas().sort_values("row")
    ours = ranker.predict(from_table(rows, allow_nan=True))
    np.testing.assert_array_equal(found["score"].to_numpy(), ours)


def test_trees_learn_on_dask_from_what_spark_writes_and_score_on_spark(
    session, frame, client, tmp_path
):
    """As the page on clusters does it; Spark spreads queries over files, and leaves some empty."""
    rows = session.createDataFrame(frame).repartition(4, "qid")
    rows.write.parquet(str(tmp_path / "items"))
    parts = Parts(client, str(tmp_path / "items"), by_query=True)
    trees = fit(rl.LambdaMART(trees=5, leaves=4, min_data_in_leaf=2), parts)
    found = predict_on_spark(trees, rows).toPandas()
    data = from_table(found.drop(columns="score"))
    np.testing.assert_allclose(found["score"], trees.predict(data), rtol=1e-6)
    assert rl.evaluate(data, found["score"].to_numpy())["nDCG@10"] > 0.8


def test_what_spark_cannot_do(session, frame):
    rows = session.createDataFrame(frame)
    with pytest.raises(DataError, match="Slam cannot be trained on Spark, only linear"):
        fit_on_spark(rl.Slam(), rows)
    texts = session.createDataFrame(frame.assign(brand="x"))
    with pytest.raises(DataError, match=r"partition \d: on Spark, linear rankers take numbers"):
        fit_on_spark(rl.XENDCG(), texts, parts=2)
