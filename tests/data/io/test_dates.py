"""ISO dates are dates, in files and in frames alike."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankloop as rl

SHOP = pd.DataFrame(
    {
        "qid": [1, 1, 2, 2],
        "label": [0, 1, 0, 1],
        "added": ["2026-01-01", "2026-02-03", None, "2025-12-31"],
        "seen": ["2026-01-01T10:30:00", "2026-02-03 11:00", None, "2026-03-01"],
        "name": ["2026-01-01 or so", "b", "a", "b"],
        "month": ["2026-01-01", "2026-01-01", "2026-02-01", "2026-02-01"],
    }
)


@pytest.mark.parametrize("make", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_frames_are_read_as_files_are(make, tmp_path):
    SHOP.to_csv(tmp_path / "shop.csv", index=False)
    options = {"category": ["month"]}
    data = rl.from_table(make(SHOP), allow_nan=True, **options)
    kinds = [column.kind for column in data.features]
    assert kinds == ["date", "date", "category", "category"]
    in_file = rl.read(tmp_path / "shop.csv", **options)
    assert data.features == in_file.features
    assert (data.X[:, 0] == in_file.X[:, 0])[:2].all()
    assert data.X[1, 0] - data.X[0, 0] == 33


def test_a_model_knows_which_text_is_a_date():
    model = rl.Described(rl.Slam()).fit(SHOP[["added", "month"]], SHOP.label, qid=SHOP.qid)
    assert [column.kind for column in model.features] == ["date", "date"]
    assert model.predict(SHOP).shape == (4,)
    data = rl.from_table(SHOP[["qid", "label", "month"]], category=["month"])
    words = rl.Described(rl.Slam()).fit(data)
    assert words.features.columns[0].categories == ("2026-01-01", "2026-02-01")
    assert (words.predict(SHOP) == words.predict(data)).all()
