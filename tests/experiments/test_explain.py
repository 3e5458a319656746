"""`rl.explain`: the same as `rankloop explain`, as a table."""

import json

import numpy as np
import pandas as pd
import pytest

import rankloop as rl
from rankloop.cli import main
from rankloop.exceptions import DataError, DataTypeError

RNG = np.random.default_rng(2)
SHOP = pd.DataFrame(
    {
        "visit": np.repeat([f"v{k}" for k in range(30)], 4),
        "price": RNG.normal(size=120),
        "brand": RNG.choice(["a", "b", "c"], 120),
    }
).assign(label=lambda f: (f.price > 0) * 2 + (f.brand == "a"))


@pytest.fixture(scope="module")
def model():
    return rl.Described(rl.Slam()).fit(rl.from_table(SHOP, query="visit"))


def test_a_frame_is_explained_as_a_data_set(model):
    frame = SHOP.drop(columns="label")
    of_frame, of_data = (rl.explain(model, X) for X in (frame, rl.from_table(SHOP, query="visit")))
    assert of_frame.parts == of_data.parts
    assert [part["feature"] for part in of_frame] == ["price", "brand"]
    assert of_frame[0]["effect"] > of_frame[1]["effect"]
    [one] = rl.explain(model, frame, top=1)
    assert one == of_frame[0]
    documents = rl.explain(model, frame, query="v3", top=1)
    assert [part["rank"] for part in documents] == [1, 2, 3, 4]
    assert [len(part["because"]) for part in documents] == [1] * 4


def test_it_says_what_the_command_says(model, tmp_path, monkeypatch, capsys):
    table, file = tmp_path / "shop.csv", tmp_path / "model.rlm"
    SHOP.to_csv(table, index=False)
    model.save(file)
    data = rl.read(table, query="visit")
    for words, explanation in (
        ((), rl.explain(model)),
        ((table,), rl.explain(model, data)),
        ((table, "--of", "v2", "--top", "2"), rl.explain(model, data, query="v2", top=2)),
    ):
        command = ["rankloop", "explain", file, *words, "--json"]
        monkeypatch.setattr("sys.argv", list(map(str, command)))
        with pytest.raises(SystemExit, match="0"):
            main()
        assert json.loads(capsys.readouterr().out) == explanation.parts


def test_it_is_a_table_in_every_form(model):
    explanation = rl.explain(model, SHOP)
    lines = str(explanation).splitlines()
    assert lines[0].split() == ["feature", "effect"]
    assert lines[1].startswith("price    +")
    assert explanation._repr_html_().startswith("<table><thead><tr><th>feature</th><th>effect")
    assert explanation.to_frame("pandas").feature.tolist() == ["price", "brand"]
    assert repr(explanation[:1]) == f"Explanation(1 rows)\n{explanation[:1]}"
    assert len(rl.plotting.plot_explained(explanation).axes[0].patches) == 2


def test_errors_say_what_to_do(model):
    for call, error, words in (
        (lambda: rl.explain("model.rlm"), DataTypeError, "model must be a ranker"),
        (lambda: rl.explain(model, SHOP.to_numpy()), DataTypeError, "data must be a QueryDataset"),
        (lambda: rl.explain(model, query=1), DataError, "only be explained with data"),
        (lambda: rl.explain(model, SHOP, query="x"), DataError, "there is no query 'x'; there are"),
        (lambda: rl.explain(model, SHOP, top=0), DataError, "top must be"),
    ):
        with pytest.raises(error, match=words):
            call()
