"""Linear rankers that share their rows are scored by one call, with the same bits as one by one."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop import _core
from rankloop.rankers.ensembles import shared_maps
from rankloop.rankers.ensembles.adaptive import Adaptive


def test_scores_by_several_weights(rng):
    X = rng.normal(size=(23, 13)).astype(np.float32)
    weights = [rng.normal(size=13) for _ in range(3)]
    scores = np.full((4, 23), np.nan)
    _core.score_rows_by(X, weights, [2, 0, 3], scores)
    for w, place in zip(weights, (2, 0, 3), strict=True):
        assert scores[place].astype(np.float32).tobytes() == _core.score_rows(X, w, 1).tobytes()
    assert np.isnan(scores[1]).all()
    for wrong in ([4, 0, 1], [0, 1]):
        with pytest.raises(ValueError, match="place"):
            _core.score_rows_by(X, weights, wrong, scores)
    with pytest.raises(ValueError, match="one weight a feature"):
        _core.score_rows_by(X, [np.ones(12)], [0], scores)


@pytest.mark.parametrize("make", [rl.Auto, lambda: Adaptive(rl.Slam())])
def test_short_and_long_lists_get_the_same_bits(make, rng, monkeypatch):
    X = rng.normal(size=(400, 6)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 1).astype(float) + (X[:, 0] > 1)
    ranker = make().fit(X, y, group=[20] * 20)
    short = np.asarray(ranker.predict(X[:30], group=[30]))
    monkeypatch.setattr(shared_maps, "_SHORT", 0)
    assert np.asarray(ranker.predict(X[:30], group=[30])).tobytes() == short.tobytes()
