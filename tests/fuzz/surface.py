"""Call what `import rankloop` offers with arguments of wrong types: only our errors may come out.

`python -m tests.fuzz.surface 2000` makes as many calls, and prints what raises anything else.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import tempfile
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl

import rankloop as rl
from rankloop.exceptions import RankloopError

X = np.random.default_rng(0).normal(size=(12, 2)).astype(np.float32)
Y = np.arange(12) % 3
DATA = rl.QueryDataset.from_arrays(X, Y, group=[4, 4, 4])
FRAME = pd.DataFrame(
    {"qid": np.repeat([1, 2, 3], 4), "label": Y, "x": X[:, 0], "name": [*"ab"] * 6}
)
MODEL = rl.Slam().fit(DATA)
VALUES = (
    *(None, True, 0, 3, -1, 1.5, float("nan"), 10**30, 1j, "", "text", "nDCG@10", b"bytes", "\0"),
    *([], [1, 2], ["a", None], [[1], [2, 3]], (), {}, {"a": 1}, {"slam": MODEL}, {1, 2}, object()),
    *(rl, np.float32(2), np.zeros(0), np.zeros(12), np.zeros((2, 3, 4)), X, Y, X[:, 0]),
    *(np.array(["a"] * 12), np.array([None] * 12), np.zeros(12, "datetime64[D]"), range(12)),
    *(FRAME, FRAME.label, pl.DataFrame({"x": [1.0]}), DATA, DATA.query(0), MODEL, rl.nDCG),
)
GOOD = {"data": DATA, "X": X, "y": Y, "group": [4, 4, 4], "ranker": "slam", "model": MODEL}
METHODS = "fit go_on partial_fit learn predict rank score contributions set_params save"
ASIDE = {"register_ranker", "scorer"}  # one changes the process, the other only stores


def targets():
    """Yield the names and values of everything that can be called."""
    for name in rl.__all__:
        value = getattr(rl, name)
        if inspect.isfunction(value) and name not in ASIDE:
            yield name, lambda value=value: value
        if inspect.isclass(value) and not issubclass(value, Exception):
            yield name, lambda value=value: value
    for ranker in ("Slam", "SolarII", "RankSVM", "LambdaMART", "Auto", "Prepared", "Described"):
        for method in METHODS.split():
            if hasattr(getattr(rl, ranker), method):
                yield f"{ranker}().{method}", lambda r=ranker, m=method: getattr(fitted(r), m)
    for method in ("from_arrays", "select", "keep", "shuffle", "in_row_order", "query", "to_dense"):
        yield f"QueryDataset.{method}", lambda m=method: getattr(DATA, m)


def fitted(name):
    options = {"LambdaMART": {"trees": 2}}.get(name, {})
    return getattr(rl, name)(**options).fit(DATA)


def arguments(function, rng):
    """Return arguments for a function: about half of them what it expects, the others anything."""
    positional, named = [], {}
    for parameter in inspect.signature(function).parameters.values():
        value = VALUES[rng.integers(len(VALUES))]
        if parameter.name in GOOD and rng.random() < 0.5:
            value = GOOD[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.append(value)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if parameter.default is parameter.empty or rng.random() < 0.3:
                named[parameter.name] = value
        elif parameter.kind is parameter.POSITIONAL_OR_KEYWORD and (
            parameter.default is parameter.empty or rng.random() < 0.4
        ):
            if parameter.default is parameter.empty:
                positional.append(value)
            else:
                named[parameter.name] = value
    return positional, named


def calls(n, seed=0):
    """Make n calls; yield what raised something that is not ours."""
    every = dict(targets())
    names = sorted(every)
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        name = names[k % len(names)]
        function = every[name]()
        positional, named = arguments(function, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(*positional, **named)
            except RankloopError:
                pass
            except IndexError as error:  # a data set is a sequence of queries
                if not name.startswith("QueryDataset."):
                    yield name, positional, named, error
            except Exception as error:
                yield name, positional, named, error


if __name__ == "__main__":
    found = Counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # for what they write
        for name, positional, named, error in calls(int(sys.argv[1])):
            found[name] += 1
            place = inspect.getinnerframes(error.__traceback__)[-1]
            print(
                f"{name}: {type(error).__name__}: {error!s:.90} ({place.filename}:{place.lineno})"
            )
            print(f"  {positional!r:.150} {named!r:.200}")
    print(sum(found.values()), "raised something else", *found.most_common())
