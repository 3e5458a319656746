"""Columns that look like leaks are asked about wherever a model could learn from them."""

import pandas as pd
import pytest

import rankloop as rl
from rankloop.exceptions import DataError

LOG = pd.DataFrame(
    {
        "query_id": [1, 1, 2, 2],
        "price": [3.0, 1.0, 2.0, 5.0],
        "Position": [1, 2, 1, 2],
        "session_id": [7, 7, 8, 8],
        "clicked": [1, 0, 0, 1],
        "sold": [0, 0, 1, 0],
    }
)


def test_the_question_and_its_answers(tmp_path):
    with pytest.raises(DataError, match="drop=") as asked:
        rl.from_table(LOG, label="clicked")
    assert "'Position', 'session_id' by their names would tell" in str(asked.value)
    assert "where a document was shown and who looked" in str(asked.value)
    answers = {
        ("price", "sold"): {"drop": ["session_id"], "position": "Position"},
        ("price", "Position", "sold"): {"drop": ["session_id"], "include": ["Position"]},
        ("session_id",): {"features": ["session_id"]},  # what is named is meant
    }
    for names, answer in answers.items():
        assert rl.from_table(LOG, label="clicked", **answer).feature_names == names
    with pytest.raises(DataError, match="no column 'rank'"):
        rl.from_table(LOG, label="clicked", include=["rank"])
    data = rl.from_table(LOG, label="clicked", include=["Position", "session_id"])
    rl.data.write_table(data, tmp_path / "own.parquet")  # it has been answered
    assert rl.read(tmp_path / "own.parquet").feature_names == data.feature_names


def test_a_label_says_what_came_of_it():
    with pytest.raises(DataError, match=r"'clicked' by its name would tell what came of it"):
        rl.from_table(LOG, label="sold", drop=["Position", "session_id"])


def test_looking_at_data_only_mentions_them():
    data = rl.from_table(LOG, label="clicked", labelled=False)
    assert any("leaks (Position, session_id)" in note for note in rl.summarise(data).notes)
