"""A trial of a model that somebody uploads: it scores and learns a few rows in another process.

A model file may ask for years of work, or give scores that are no numbers. In a process of its own,
it can be ended after some seconds, whatever it does.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.features.column import Feature
from rankloop.features.columns import Features
from rankloop.rankers.model_files.saving import loads
from rankloop.rankers.online.base import OnlineRanker
from rankloop.serving.learning.models import all_finite

if TYPE_CHECKING:
    from rankloop.rankers.base import Ranker

SECONDS = 10
"""The most seconds of processor time of a trial; real models need milliseconds."""

_WAIT = 120  # the most seconds of the clock, on a busy machine
_ROWS, _QUERIES = 24, 3


def try_model(body: bytes) -> None:
    """Raise if a model cannot score and learn a few rows in time, in finite numbers."""
    command = [sys.executable, "-m", "rankloop.serving.learning.trial"]
    try:
        done = subprocess.run(command, input=body, capture_output=True, timeout=_WAIT, check=False)
    except subprocess.TimeoutExpired:
        raise DataError("the model could not be tried in time; try again later") from None
    if done.returncode == -signal.SIGPROF:
        raise DataError(
            f"the model needs more than {SECONDS} seconds of a processor for {_ROWS} rows; use "
            "fewer steps, or a smaller model"
        )
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise DataError(f"the model failed on {_ROWS} rows: {reason[-1] if reason else 'it ended'}")


def run_trial(body: bytes) -> None:
    """Score rows, and learn from them if the model can; raise if a number is not finite."""
    ranker = loads(body)
    width = ranker.n_features_in_
    row, column = np.indices((_ROWS, width))
    X = (((7 * row + 3 * column) % 11 - 5) / 5).astype(np.float32)
    columns = _columns(ranker)
    for j, feature in enumerate(columns or ()):
        if feature.kind == "category":
            X[:, j] = row[:, 0] % max(feature.codes, 1)
    offsets = np.arange(0, _ROWS + 1, _ROWS // _QUERIES)
    data = QueryDataset(
        X,
        (np.arange(_ROWS) % 3).astype(np.float64),
        offsets,
        np.arange(_QUERIES),
        feature_names=ranker.feature_names_in_ or None,
        features=columns,
    )
    scores = [ranker.predict(data)]
    if isinstance(ranker, OnlineRanker):
        ranker.partial_fit(data)
        scores.append(ranker.predict(data))
        if not all_finite(ranker._state()):
            raise DataError("a weight is not finite after learning")
    if not np.isfinite(np.concatenate(scores)).all():
        raise DataError("a score is not finite")


def _columns(ranker: Ranker) -> Features | None:
    """Return the columns that a loop gives a model; None if all are numbers."""
    known = getattr(ranker, "features", None)
    if not isinstance(known, Features) or not known.categorical:
        return None
    return Features(
        tuple(
            Feature(column.name, "category", limit=len(column.recode)) if column.recode else column
            for column in known
        )
    )


if __name__ == "__main__":
    # It ends the process even inside compiled code. It counts the time of a processor, so that a
    # busy machine refuses no model.
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    run_trial(sys.stdin.buffer.read())
