"""Compare rankers on the same folds, with parameters chosen on validation data."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rankloop._utils.arguments import as_list, check_number
from rankloop.exceptions import DataError, RankloopError
from rankloop.experiments.compare_cluster import Deal, run_folds
from rankloop.experiments.fold_result import FoldResult, ResultStore, check_measurable, run_fold
from rankloop.experiments.named_rankers import NamedRanker, make_named_rankers
from rankloop.experiments.standings import Standings, stand
from rankloop.measures.conventions import CONVENTIONS, Convention, as_convention
from rankloop.measures.measure import Measure, parse_all

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.fold_source import Split, Trials
    from rankloop.rankers.base import Ranker
    from rankloop.rankers.search import Search

    PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class ComparisonProgress:
    """The state of one ranker on one fold, and how many of all are done.

    left : seconds until all are done, by the time that each ranker took so far, or the settings of
        its first search; None if nothing is known yet
    untimed : rankers of which nothing is known yet; they count nothing
    result : the result, if it is done
    """

    ranker: str
    fold: str
    state: Literal["started", "done", "kept"]
    done: int
    total: int
    left: float | None = None
    untimed: tuple[str, ...] = ()
    result: FoldResult | None = None


def compare(
    data: QueryDataset | PathLike | Sequence[PathLike],
    rankers: str | Iterable[str] | Mapping[str, Ranker],
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    conventions: str | Convention | Sequence[str | Convention] = "standard",
    *,
    folds: int | str | None = None,
    trials: Trials | None = None,
    baseline: str | None = None,
    seed: int = 0,
    scale: str | None = None,
    search: bool = True,
    grids: Mapping[str, Mapping[str, Search]] | None = None,
    category_limit: int | None = None,
    category_buckets: int | None = None,
    jobs: int = 1,
    cluster: object = None,
    resume: PathLike | None = None,
    on_progress: Callable[[ComparisonProgress], None] | None = None,
    **options: object,
) -> Standings:
    """Compare rankers on the same folds.

    On each fold every setting of a ranker's grid is fitted on the training part and measured on
    the validation part by the first measure and convention; the best (the first of equal ones) is
    measured on the test part. Batch rankers also stop early on the validation part. Documents are
    shuffled before they are measured.

    Parameters
    ----------
    data : a folder with LETOR folds, files, or a data set
    rankers : as `slam` or `solar-ii:gamma=1000`, or rankers by name; parameters that are given
        are not searched
    folds : `letor`, or a number of folds, at least 3; see
        :func:`rankloop.experiments.fold_source.find_splits`
    trials : random splits instead of folds; rankers are then compared by their means over trials
        (paired t-test, corrected as in :func:`rankloop.measures.significance.paired_t`), because
        the queries of two trials overlap
    baseline : the ranker that others are tested against; default: the first
    seed : random seed of folds, shuffles and tests, and of batch rankers without a `random_state`
    scale : a scaler's name; it is fitted on each training part
    search : whether to search; if not, rankers keep their parameters
    grids : by ranker, the settings to choose from instead of its own search space
    category_limit, category_buckets : as in :class:`rankloop.rankers.Described`, for all rankers
    jobs : number of threads; apart from the seconds, the results are the same for any number
    cluster : a Dask cluster, as in :func:`rankloop.distributed.connect`, whose workers run the
        folds instead of threads; they must be able to read the files. The results are the same.
    resume : a folder that keeps finished results; they are not computed again
    on_progress : called when a ranker starts and finishes a fold
    options : options of :func:`rankloop.data.io.formats.read`

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import mslr_like
    >>> data = mslr_like(40, np.random.default_rng(0), n_features=6, mean_length=10).data
    >>> found = compare(data, ["auto", "slam"], ["nDCG@5", "AP"], folds=3, scale="log")
    >>> [(row.ranker, row.measure, len(row.fold_means)) for row in found.rows]
    [('auto', 'nDCG@5', 3), ('auto', 'AP', 3), ('slam', 'nDCG@5', 3), ('slam', 'AP', 3)]
    """
    wanted = parse_all(measures)
    if isinstance(conventions, str | Convention):
        conventions = [conventions]
    conventions = as_list("conventions", conventions, "a convention such as 'standard', or several")
    under = [as_convention(rule) for rule in conventions]
    if not wanted or not under:
        raise DataError("give at least one measure and one convention")
    check_number("jobs", jobs, 1)
    check_number("seed", seed, 0)
    given = {"limit": category_limit, "buckets": category_buckets}
    limits = {name: value for name, value in given.items() if value is not None}
    named_rankers = make_named_rankers(
        rankers, wanted[0], seed=seed, search=search, grids=grids, limits=limits
    )
    names = [named_ranker.name for named_ranker in named_rankers]
    if baseline is not None and baseline not in names:
        raise DataError(f"the baseline {baseline!r} is not among the rankers: {', '.join(names)}")
    deal = Deal(data, folds, trials, seed, scale, options)
    splits, how = deal.splits()
    run = _Run(
        named_rankers,
        splits,
        wanted,
        under,
        seed,
        None if resume is None else ResultStore(resume),
        on_progress,
    )
    results = run.all(jobs, None if cluster is None else (cluster, deal))
    setting = {
        "folds": how,
        "chosen by": f"{wanted[0]} ({under[0].name}) on validation data" if search else "nothing",
        "scaling": scale or "none",
        "seed": str(seed),
    }
    overlap = 0.0 if trials is None else trials.overlap
    return stand(results, baseline or names[0], seed, setting, overlap=overlap)


@dataclass
class _Run:
    """All results of a comparison: those that are finished, and those that are not."""

    named_rankers: list[NamedRanker]
    splits: list[Split]
    measures: Sequence[Measure]
    conventions: Sequence[Convention]
    seed: int
    store: ResultStore | None
    on_progress: Callable[[ComparisonProgress], None] | None

    def all(self, jobs: int, on: tuple[object, Deal] | None) -> dict[str, list[FoldResult]]:
        self.done, self.jobs, self.here = 0, jobs, on is None
        self.expected: dict[str, float] = {}
        self.lock = threading.Lock()
        self.results: dict[tuple[str, int], FoldResult] = {}
        todo = []
        for i, split in enumerate(self.splits):  # fold after fold: one in memory at a time
            for named_ranker in self.named_rankers:
                stored = None
                if self.store is not None:
                    stored = self.store.get(
                        named_ranker.name, split.name, self._key(named_ranker, i)
                    )
                if stored is None:
                    todo.append((named_ranker, i))
                else:
                    self._finish(stored, i, "kept")
        self.left = [sum(i == k for _, k in todo) for i in range(len(self.splits))]
        if on is not None:
            self._do_on(*on, todo)
        elif jobs == 1:
            for named_ranker, i in todo:
                self._do(named_ranker, i)
        else:
            with ThreadPoolExecutor(jobs) as pool:
                try:
                    for future in as_completed([pool.submit(self._do, *task) for task in todo]):
                        future.result()
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
        folds = range(len(self.splits))
        return {c.name: [self.results[c.name, i] for i in folds] for c in self.named_rankers}

    def _do(self, named_ranker: NamedRanker, i: int) -> None:
        split = self.splits[i]
        self._tell(named_ranker.name, split.name, "started")
        parts = split.parts()
        try:
            check_measurable(parts[1], self.measures, self.conventions)
            result = run_fold(
                named_ranker,
                split.name,
                parts,
                self.measures,
                self.conventions,
                [self.seed, i],
                lambda seconds: self._expect(named_ranker.name, split.name, seconds),
            )
        except RankloopError as error:
            raise DataError(f"{named_ranker.name} on {split.name}: {error}") from error
        if self.store is not None:
            self.store.put(result, self._key(named_ranker, i))
        self._finish(result, i, "done")
        with self.lock:
            self.left[i] -= 1
            if self.left[i] == 0:
                split.drop()

    def _do_on(self, cluster: object, deal: Deal, todo: list[tuple[NamedRanker, int]]) -> None:
        def keep(k: int, result: FoldResult) -> None:
            named_ranker, i = todo[k]
            if self.store is not None:
                self.store.put(result, self._key(named_ranker, i))
            self._finish(result, i, "done")

        run_folds(cluster, deal, todo, self.measures, self.conventions, keep)

    def _finish(self, result: FoldResult, i: int, state: Literal["done", "kept"]) -> None:
        with self.lock:
            self.results[result.ranker, i] = result
            self.done += 1
        self._tell(result.ranker, result.fold, state, result)

    def _tell(
        self,
        ranker: str,
        fold: str,
        state: Literal["started", "done", "kept"],
        result: FoldResult | None = None,
    ) -> None:
        if self.on_progress is not None:
            total = len(self.named_rankers) * len(self.splits)
            so_far = self.done, total, *self._seconds_left()
            self.on_progress(ComparisonProgress(ranker, fold, state, *so_far, result))

    def _expect(self, ranker: str, fold: str, seconds: float) -> None:
        """Remember how long a fold will take, after some settings of a search."""
        self.expected[ranker] = seconds
        self._tell(ranker, fold, "started")

    def _seconds_left(self) -> tuple[float | None, tuple[str, ...]]:
        """Return the seconds that remain, and the rankers of which nothing is known yet."""
        took: dict[str, list[float]] = {ranker.name: [] for ranker in self.named_rankers}
        with self.lock:
            for (name, _), result in self.results.items():
                took[name].append(result.seconds)
        known = {name: sum(some) / len(some) for name, some in took.items() if some}
        known = {**self.expected, **known}
        if not known or not self.here:
            return None, ()
        folds = len(self.splits)
        left = sum(seconds * (folds - len(took[name])) for name, seconds in known.items())
        return left / self.jobs, tuple(name for name in took if name not in known)

    def _key(self, named_ranker: NamedRanker, i: int) -> dict[str, object]:
        from rankloop import __version__

        return {
            "version": __version__,
            "ranker": named_ranker.key,
            "fold": [i, self.splits[i].key],
            "measures": [str(measure) for measure in self.measures],
            "conventions": [_describe_rule(rule) for rule in self.conventions],
            "seed": self.seed,
        }


def _describe_rule(rule: Convention) -> str:
    return rule.name if CONVENTIONS.get(rule.name) == rule else repr(rule)
