"""Which features change the scores, of any ranker, and of trees: importance and dependence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError
from rankloop.plotting.figures import new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rankloop.rankers.boosting.dependence import Dependence
    from rankloop.rankers.boosting.model import TreeModel

_BAR, _MARK, _INK, _GRID = "#3b6ea8", "#d1603d", "#333333", "#e4e4e4"
_LINES = 50
_MAX = 30


def plot_explained(parts: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw features with their effects, or the documents of a query with what each feature adds.

    parts : what :func:`rankloop.explain` returned for data
    """
    rows = [
        (name, value)
        for part in parts
        for name, value in (
            [(part["feature"], part["effect"])]
            if "effect" in part
            else [
                (f"{part['rank']}. {part['document']}: {feature}", added)
                for feature, added in part["because"].items()
            ]
        )
    ][:_MAX]
    figure = new_figure(7.0, 1.0 + 0.26 * len(rows))
    axes = figure.add_subplot()
    places = range(len(rows))
    colours = [_BAR if value >= 0 else _MARK for _, value in rows]
    axes.barh(places, [value for _, value in rows], color=colours, height=0.7)
    axes.set_yticks(places, [name for name, _ in rows])
    axes.invert_yaxis()
    axes.axvline(0, color=_INK, linewidth=0.8)
    whole = bool(parts) and "effect" in parts[0]
    axes.set_xlabel("mean effect on scores inside queries" if whole else "added to the score")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(colors=_INK, labelsize=8, length=0)
    return figure


def plot_importance(ranker: TreeModel, most: int = 20) -> Figure:
    """Draw the gain of each feature's splits as a share of the total gain, the largest first.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.boosting.lambdamart import LambdaMART
    >>> data = separable(30, np.random.default_rng(0), n_features=3).data
    >>> axes = plot_importance(LambdaMART(trees=5).fit(data)).axes[0]
    >>> axes.get_yticklabels()[0].get_text()
    '3'
    """
    parts = ranker.explain()
    total = sum(part["gain"] for part in parts) or 1.0
    shown = parts[:most]
    figure, [axes] = _figure(1, height=1.2 + 0.24 * len(shown))
    axes.set_title("Gain of splits", loc="left", fontsize=10, fontweight="bold", color=_INK)
    axes.barh(range(len(shown)), [part["gain"] / total for part in shown], color=_BAR, height=0.7)
    axes.set_yticks(range(len(shown)), [part["feature"] for part in shown])
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return figure


def plot_dependence(results: Dependence | Sequence[Dependence]) -> Figure:
    """Draw how scores depend on features, one panel per feature: the mean and some documents.

    Parameters
    ----------
    results : one or several results of
        :func:`rankloop.rankers.boosting.dependence.partial_dependence`
    """
    panels = list(results) if isinstance(results, Sequence) else [results]
    if not panels:
        raise DataError("nothing to draw: give at least one dependence")
    figure, places = _figure(len(panels))
    for axes, dependence in zip(places, panels, strict=True):
        axes.set_title(dependence.feature, loc="left", fontsize=10, fontweight="bold", color=_INK)
        step = max(1, len(dependence.scores) // _LINES)
        axes.plot(
            dependence.values, dependence.scores[::step].T, color=_BAR, alpha=0.15, linewidth=0.8
        )
        axes.plot(dependence.values, dependence.mean, color=_MARK, linewidth=2)
        axes.set_ylabel("score minus its mean", color=_INK, size=9)
    return figure


def plot_contributions(ranker: TreeModel, row: object, most: int = 12) -> Figure:
    """Draw what each feature adds to one document's score, the largest absolute value first.

    Parameters
    ----------
    ranker : a fitted ranker
    row : (d,) the features of the document
    most : maximum number of features shown; the others are drawn as one bar
    """
    features = np.atleast_2d(np.asarray(row, np.float32))
    [added] = ranker.contributions(features)
    order = np.argsort(-np.abs(added[:-1]), kind="stable")
    names = [f"{ranker._feature_name(int(j))} = {features[0, j]:g}" for j in order[:most]]
    sizes = [float(added[j]) for j in order[:most]]
    if len(order) > most:
        names.append(f"{len(order) - most} others")
        sizes.append(float(added[order[most:]].sum()))
    figure, [axes] = _figure(1, height=1.2 + 0.24 * len(names))
    title = f"Score {added.sum():.3f}: {added[-1]:.3f} on average, and"
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", color=_INK)
    colours = [_BAR if size >= 0 else _MARK for size in sizes]
    axes.barh(range(len(sizes)), sizes, color=colours, height=0.7)
    axes.axvline(0, color=_INK, linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    return figure


def _figure(panels: int, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    columns = min(panels, 3)
    rows = -(-panels // columns)
    figure = new_figure(max(5.6, 3.6 * columns), height * rows, dpi=120)
    places = [figure.add_subplot(rows, columns, k + 1) for k in range(panels)]
    for axes in places:
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.grid(axis="both", color=_GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(colors=_INK, labelsize=8, length=0)
    return figure, places
