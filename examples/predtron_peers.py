"""Predtron's classifiers beside scikit-learn's on the data that scikit-learn ships.

Standardised features, 10 passes, 5 folds (the smaller two data sets three times over), defaults
otherwise: nothing is tuned.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn import datasets
from sklearn.linear_model import PassiveAggressiveClassifier, Perceptron, SGDClassifier
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankloop as rl

SAME = {"max_iter": 10, "tol": None, "random_state": 0}
AVERAGED = {**SAME, "loss": "perceptron", "learning_rate": "constant", "eta0": 1, "penalty": None}
MODELS = {
    "Perceptron": lambda: Perceptron(**SAME),
    "PassiveAggressive": lambda: PassiveAggressiveClassifier(**SAME),
    "PassiveAggressive, averaged": lambda: PassiveAggressiveClassifier(average=True, **SAME),
    "Perceptron, averaged": lambda: SGDClassifier(average=True, **AVERAGED),
    "PredtronClassifier, last weights": lambda: rl.rankers.PredtronClassifier(average=False),
    "PredtronClassifier": rl.rankers.PredtronClassifier,
    "PredtronOrdinal": rl.rankers.PredtronOrdinal,
}


def quartiles() -> tuple[np.ndarray, np.ndarray]:
    """Return diabetes with its progression cut into four grades."""
    X, y = datasets.load_diabetes(return_X_y=True)
    return X, np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))


def main() -> None:
    """Cross-validate and print."""
    warnings.simplefilter("ignore")  # scikit-learn is about to rename PassiveAggressive
    data = {
        "digits": (*datasets.load_digits(return_X_y=True), 1),
        "breast cancer": (*datasets.load_breast_cancer(return_X_y=True), 3),
        "diabetes": (*quartiles(), 3),
    }
    print(f"{'accuracy, mean error':34}" + "".join(f"{name:>18}" for name in data))
    for name, make in MODELS.items():
        shown = []
        for X, y, times in data.values():
            errors = []
            for train, test in RepeatedStratifiedKFold(
                n_splits=5, n_repeats=times, random_state=0
            ).split(X, y):
                model = make_pipeline(StandardScaler(), make()).fit(X[train], y[train])
                off = np.abs(model.predict(X[test]) - y[test])
                errors.append([(off == 0).mean(), off.mean()])
            right, error = np.mean(errors, axis=0)
            shown.append(f"{right:11.4f}{error:7.3f}")
        print(f"{name:34}" + "".join(shown))


if __name__ == "__main__":
    main()
