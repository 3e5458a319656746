"""`rankloop stream`: learners side by side over one pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.output import leaderboard, print_json, print_table

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.progressive import Stream
    from rankloop.learners.online.base import OnlineRanker


def stream(
    data: o.Data,
    learner: o.Learners,
    metric: o.Metrics = ["nDCG@10"],
    convention: o.Conventions = ["standard"],
    permutations: Annotated[
        int, typer.Option("--permutations", help="Random orders of the queries.", min=1)
    ] = 1,
    seed: o.Seed = 0,
    scale: o.Scale = None,
    window: Annotated[
        int | None, typer.Option("--window", help="Plot the mean of this many last queries.", min=1)
    ] = None,
    plot: o.Plot = None,
    bounds: Annotated[
        Path | None,
        typer.Option(
            "--bounds",
            help="Draw the loss of slam, minimax, solar-i and solar-ii beside its bound.",
        ),
    ] = None,
    format: o.Format = None,
    skip_bad_rows: o.SkipBadRows = False,
    json: o.Json = False,
) -> None:
    """Run learners over a stream, measuring each query before learning from it."""
    from rankloop.experiments.progressive import progressive
    from rankloop.learners.registry import make_online_learner

    learners = {text: make_online_learner(text) for text in learner}
    if data == [Path("-")]:
        _live(learners, metric, convention, seed, skip_bad_rows, json)
        return
    queries = o.read_scaled(data, format, scale, skip_bad_rows=skip_bad_rows)
    with leaderboard(list(learners), permutations, f"{metric[0]} ({convention[0]})") as show:
        streams = progressive(
            queries,
            learners,
            metric,
            convention,
            permutations=permutations,
            seed=seed,
            on_result=lambda name, _, means: show(name, next(iter(means.values()))),
        )
    if plot is not None:
        from rankloop.plotting.save import save_figure
        from rankloop.plotting.streams import plot_streams

        save_figure(plot_streams(streams, window), plot)
    if bounds is not None:
        _draw_bounds(learners, queries, bounds, seed)
    if json:
        print_json([found.to_dict() for found in streams])
    else:
        _print(streams)


def _draw_bounds(
    learners: dict[str, OnlineRanker], queries: QueryDataset, path: Path, seed: int
) -> None:
    """Follow those learners that have a bound over the first permutation."""
    from rankloop.experiments.progressive import permuted
    from rankloop.plotting.bounds import plot_bounds
    from rankloop.plotting.save import save_figure
    from rankloop.theory.tracking import HAVE_BOUNDS, track

    data = permuted(queries, seed, 0)
    tracked = [track(it, data) for it in learners.values() if isinstance(it, HAVE_BOUNDS)]
    if not tracked:
        raise typer.BadParameter("--bounds needs slam, minimax, solar-i or solar-ii among -l")
    save_figure(plot_bounds(tracked), path)


def _live(
    learners: dict[str, OnlineRanker],
    metrics: list[str],
    conventions: list[str],
    seed: int,
    skip_bad_rows: bool,
    json: bool,
) -> None:
    """Learn from standard input as it comes; an interruption ends it, and the means are shown."""
    import numpy as np

    from rankloop.data.io.letor import iter_letor
    from rankloop.experiments.live import LiveStream
    from rankloop.metrics.measures import parse_all

    live = LiveStream(learners, parse_all(metrics), conventions, np.random.default_rng(seed))
    try:
        for batch in iter_letor("-", skip_bad_rows=skip_bad_rows):
            live.observe(batch)
            shown = "  ".join(f"{row['learner']} {row['mean']:.4f}" for row in live.to_dicts())
            typer.echo(f"{live.queries:,} queries  {shown}", err=True)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
    if json:
        print_json(live.to_dicts())
    else:
        rows = [[r["learner"], r["metric"], r["convention"], r["mean"]] for r in live.to_dicts()]
        print_table(["learner", "measure", "convention", "mean"], rows)


def _print(streams: list[Stream]) -> None:
    columns = list(dict.fromkeys(f"{s.measure} ({s.convention})" for s in streams))
    found = {(s.learner, f"{s.measure} ({s.convention})"): s for s in streams}
    names = dict.fromkeys(s.learner for s in streams)
    best = sorted(names, key=lambda name: -found[name, columns[0]].mean)
    rows = [
        [name, *(f"{found[name, c].mean:.4f} ± {found[name, c].std:.4f}" for c in columns)]
        for name in best
    ]
    print_table(["learner", *columns], rows)
