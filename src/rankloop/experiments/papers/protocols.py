"""The protocols that several experiments share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.experiments.comparison import compare
from rankloop.experiments.papers.declaration import Estimate, FigureCurve, PartResult
from rankloop.experiments.progressive import stream
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.registry import make_online_ranker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.papers.datasets import Source
    from rankloop.experiments.papers.declaration import Setting
    from rankloop.experiments.progressive import Stream
    from rankloop.experiments.standings import Standing
    from rankloop.measures.conventions import Convention
    from rankloop.rankers.search import Search

POINTS = 200
"""The largest number of points of a curve."""


def online(
    rankers: Mapping[str, Sequence[str]],
    measures: Sequence[str],
    convention: str | Convention,
    permutations: int,
    *,
    queries: int | None = None,
    shuffle: bool = True,
    prepare: Callable[[QueryDataset], QueryDataset] | None = None,
    make: Callable[[Setting], QueryDataset] | None = None,
) -> Callable[[Source, Setting], PartResult]:
    """One pass over a stream, each query measured before it is learnt from.

    Values are named `ranker, measure`; curves are means so far.

    Parameters
    ----------
    rankers : for each name one or several texts, of which the best by the first measure counts
    queries : the largest number of queries
    shuffle : whether documents are shuffled; otherwise the notes say what their order reveals
    prepare : applied to the data first
    make : makes the data, where the paper simulates it
    """

    def run(source: Source, setting: Setting) -> PartResult:
        data = source.data if make is None else make(setting)
        data = data if prepare is None else prepare(data)
        most = len(data) if make else setting.pick(queries or len(data), 60)
        streams = stream(
            data.select(slice(0, most)),
            {text: make_online_ranker(text) for texts in rankers.values() for text in texts},
            measures,
            convention,
            permutations=setting.trials(permutations),
            seed=setting.seed,
            shuffle=shuffle,
        )
        best = _best(rankers, streams)
        notes = list(_choices(rankers, best))
        if not shuffle:
            notes.append(_leak(data, measures[-1], convention, setting))
        named = [
            replace(stream, ranker=name)
            for name, text in best.items()
            for stream in streams
            if stream.ranker == text
        ]
        return PartResult(
            {f"{s.ranker}, {s.measure}": Estimate.over(s.means) for s in named},
            curves(named),
            ("queries", "mean so far"),
            tuple(notes),
        )

    return run


def _choices(rankers: Mapping[str, Sequence[str]], best: Mapping[str, str]) -> Iterator[str]:
    """Name what was chosen if there was a choice, and warn if a grid may be too small."""
    for name, texts in rankers.items():
        if len(texts) > 1:
            at_edge = best[name] in (texts[0], texts[-1])
            warning = (
                ", which is at the edge of the grid: a value beyond it may be better"
                if at_edge
                else ""
            )
            yield f"{name}: {best[name]}, the best of {len(texts)}{warning}"


def _leak(data: QueryDataset, measure: str, convention: str | Convention, setting: Setting) -> str:
    """Say how well the order of the file ranks, without any ranker."""
    nothing = np.zeros(data.n_documents)
    known = evaluate(data, nothing, measure, convention)[measure]
    mixed = data.shuffle(np.random.default_rng(setting.seed))
    chance = evaluate(mixed, nothing, measure, convention)[measure]
    return f"the file's own order has {measure} {known:.3f}, a random one {chance:.3f}"


def _best(rankers: Mapping[str, Sequence[str]], streams: Sequence[Stream]) -> dict[str, str]:
    """Choose the best text of each ranker by the first measure; of equals, the middle one."""
    means: dict[str, float] = {}
    for result in streams:
        means.setdefault(result.ranker, round(result.mean, 6))
    best = {}
    for name, texts in rankers.items():
        top = max(means[text] for text in texts)
        equals = [text for text in texts if means[text] == top]
        best[name] = equals[len(equals) // 2]
    return best


def by_folds(
    rankers: Mapping[str, str],
    measures: Sequence[str],
    conventions: Mapping[str, str],
    *,
    chosen_by: str,
    grids: Mapping[str, Mapping[str, Search]] | None = None,
) -> Callable[[Source, Setting], PartResult]:
    """Run over the data set's own folds, parameters chosen on their validation parts.

    Parameters
    ----------
    rankers : texts by name
    conventions : which one each ranker was published under
    chosen_by : the measure on validation data
    grids : what to choose from, by name; default: the ranker's own
    """

    def run(source: Source, setting: Setting) -> PartResult:
        wanted = [chosen_by, *(measure for measure in measures if measure != chosen_by)]
        rules = list(dict.fromkeys(conventions.values()))
        standings = compare(
            source.quick_data if setting.quick else source.folder or source.data,
            list(rankers.values()),
            wanted,
            rules,
            folds=3 if setting.quick else None,
            seed=setting.seed,
            search=not setting.quick,
            grids={rankers[name]: grid for name, grid in (grids or {}).items()},
        )
        by_name = {(row.ranker, row.measure, row.convention): row for row in standings.rows}
        rows = {
            (name, measure): by_name[text, measure, conventions[name]]
            for name, text in rankers.items()
            for measure in measures
        }
        return PartResult(
            {f"{name}, {m}": Estimate.over(row.fold_means) for (name, m), row in rows.items()},
            _by_cutoff(rows, rankers),
            ("cutoff", "mean over folds"),
        )

    return run


def _by_cutoff(
    rows: Mapping[tuple[str, str], Standing], rankers: Mapping[str, str]
) -> dict[str, list[FigureCurve]]:
    """Draw measures with several cutoffs: one panel per measure, one line per ranker."""
    panels: dict[str, list[FigureCurve]] = {}
    families: dict[str, list[str]] = {}
    for measure in dict.fromkeys(measure for _, measure in rows):
        families.setdefault(measure.partition("@")[0], []).append(measure)
    for family, measures in families.items():
        if len(measures) < 2:
            continue
        cutoffs = [float(measure.partition("@")[2]) for measure in measures]
        panels[family] = [
            FigureCurve(name, cutoffs, [rows[name, measure].mean for measure in measures])
            for name in rankers
        ]
    return panels


def curves(streams: Sequence[Stream]) -> dict[str, list[FigureCurve]]:
    """Thin the curves of streams, one panel a measure."""
    panels: dict[str, list[FigureCurve]] = {}
    for result in streams:
        curve = result.curve()
        at = np.unique(np.linspace(0, len(curve) - 1, POINTS).astype(int))
        at = at[~np.isnan(curve[at])]
        line = FigureCurve(result.ranker, (at + 1.0).tolist(), curve[at].tolist())
        panels.setdefault(str(result.measure), []).append(line)
    return panels


def with_claims(
    run: Callable[[Source, Setting], PartResult],
    claims: Callable[[PartResult], Mapping[str, Estimate]],
) -> Callable[[Source, Setting], PartResult]:
    """Add the numbers that claims are about."""

    def both(source: Source, setting: Setting) -> PartResult:
        result = run(source, setting)
        return replace(result, values={**result.values, **claims(result)})

    return both
