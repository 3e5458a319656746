"""Results print as tables, and notebooks show them as HTML."""

import numpy as np

import rankloop as rl

DATA = rl.QueryDataset.from_arrays(
    np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3, group=[5] * 12
)


def test_each_result_prints_its_rows():
    values = {"a": np.linspace(0, 0.5, 12), "<b>": np.linspace(0.3, 0.6, 12)}
    results = {
        "nDCG@10": rl.evaluate(DATA, DATA.X[:, 0], ["nDCG@10", "AP"]),
        "system": rl.compare_runs(values),
        "ranker": rl.compare(DATA, ["slam", "solar-i"], "AP", folds=3, search=False),
        "trial": rl.tune(DATA, "slam", trials=2, folds=2),
    }
    for word, result in results.items():
        lines = str(result).splitlines()
        assert word in str(result), word
        assert len(lines) == 1 + len(result._rows()), word
        assert result._repr_html_().count("<tr>") == len(lines), word
        assert len(lines[0]) < 110, lines[0]
    assert "&lt;b&gt;" in results["system"]._repr_html_()
    for name in ("system", "ranker"):
        assert repr(results[name]) == str(results[name])
