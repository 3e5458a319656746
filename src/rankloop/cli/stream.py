"""`rankloop stream`: run several rankers over one pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.progress import leaderboard
from rankloop.cli.tables import Printer

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.progressive import Stream
    from rankloop.rankers.online.base import OnlineRanker


@takes_groups
def stream(
    source: DataSource,
    printer: Printer,
    ranker: o.Rankers,
    measures: o.Measures = ["nDCG@10"],
    convention: o.Conventions = ["standard"],
    permutations: Annotated[
        int, typer.Option("--permutations", help="Number of random orders of the queries.", min=1)
    ] = 1,
    seed: o.Seed = 0,
    scale: o.Scale = None,
    window: Annotated[
        int | None,
        typer.Option("--window", help="Plot the mean of this many recent queries.", min=1),
    ] = None,
    plot: o.Plot = None,
    bounds: Annotated[
        Path | None,
        typer.Option(
            "--bounds",
            help="Draw the loss of slam, minimax, solar-i and solar-ii, and its bound.",
        ),
    ] = None,
    clicks: Annotated[
        list[str],
        typer.Option(
            "--clicks",
            help="Learn from the clicks of a simulated user: perfect, navigational, informational "
            "or almost-random, who stop after a click, or after any document with :document; "
            "cascade or ultra; repeat.",
            metavar="USER",
        ),
    ] = [],
    impressions: Annotated[
        int,
        typer.Option("--impressions", help="Number of lists shown to each simulated user.", min=1),
    ] = 10_000,
) -> None:
    """Run rankers over a stream; each query is measured before the rankers learn from it.

    With --clicks, rankers choose what is shown and learn from clicks. The true grades measure what
    was shown, and a held-out fifth of the queries measures what was learnt.
    """
    from rankloop.data.scaling import scaler_from_name
    from rankloop.experiments.fold_source import numbers_only
    from rankloop.experiments.progressive import stream as measure
    from rankloop.rankers.registry import make_online_ranker

    rankers = {text: make_online_ranker(text) for text in ranker}
    if source.places == ["-"]:
        for option, given in (("--scale", scale), ("--plot", plot), ("--bounds", bounds)):
            if given is not None:
                raise typer.BadParameter(f"{option} needs all data at once, not standard input")
        if clicks:
            raise typer.BadParameter("--clicks needs all data at once, not standard input")
        if permutations > 1:
            raise typer.BadParameter("--permutations needs all data at once, not standard input")
        _live(rankers, measures, convention, seed, source, printer)
        return
    (queries,) = numbers_only(source.read())
    if scale is not None:
        queries = scaler_from_name(scale).fit(queries).transform(queries)
    if clicks:
        _clicks(rankers, queries, clicks, impressions, permutations, measures[0], seed, printer)
        return
    with leaderboard(list(rankers), permutations, f"{measures[0]} ({convention[0]})") as show:
        streams = measure(
            queries,
            rankers,
            measures,
            convention,
            permutations=permutations,
            seed=seed,
            on_result=lambda name, _, means: show(name, next(iter(means.values()))),
        )
    if plot is not None:
        from rankloop.plotting.figures import save_figure
        from rankloop.plotting.streams import plot_streams

        save_figure(plot_streams(streams, window), plot)
    if bounds is not None:
        _draw_bounds(rankers, queries, bounds, seed)
    if not printer.records([result.to_dict() for result in streams]):
        _print(streams, printer)


def _clicks(
    rankers: dict[str, OnlineRanker],
    queries: QueryDataset,
    users: list[str],
    impressions: int,
    runs: int,
    measures: str,
    seed: int,
    printer: Printer,
) -> None:
    """Let simulated users click; measure what they saw and what was learnt."""
    from rankloop.clicks.users import user_for
    from rankloop.experiments.click_streams import click_streams, held_out_parts

    streams = click_streams(
        held_out_parts(queries, runs, seed),
        rankers,
        {name: user_for(queries.y, name) for name in users},
        impressions=impressions,
        runs=runs,
        measure=measures,
        seed=seed,
    )
    rows = [stream.to_dict() for stream in streams]
    if printer.records(rows):
        return
    columns = ["ranker", "user", "final", "final_std", "online", "online_std"]
    printer.table(columns, [[row[name] for name in columns] for row in rows])


def _draw_bounds(
    rankers: dict[str, OnlineRanker], queries: QueryDataset, path: Path, seed: int
) -> None:
    """Draw loss and bound of rankers that have a bound, over the first permutation."""
    from rankloop.experiments.progressive import permute
    from rankloop.plotting.bounds import plot_bounds
    from rankloop.plotting.figures import save_figure
    from rankloop.theory.tracking import HAVE_BOUNDS, track

    data = permute(queries, seed, 0)
    tracked = [track(it, data) for it in rankers.values() if isinstance(it, HAVE_BOUNDS)]
    if not tracked:
        raise typer.BadParameter(
            "--bounds needs at least one of slam, minimax, solar-i and solar-ii: add it with -r"
        )
    save_figure(plot_bounds(tracked), path)


def _live(
    rankers: dict[str, OnlineRanker],
    metrics: list[str],
    conventions: list[str],
    seed: int,
    source: DataSource,
    printer: Printer,
) -> None:
    """Learn from standard input as it arrives; an interrupt ends it and shows the means."""
    import numpy as np

    from rankloop.exceptions import DataError
    from rankloop.experiments.progressive import LiveStream
    from rankloop.measures.measure import parse_all

    live = LiveStream(rankers, parse_all(metrics), conventions, np.random.default_rng(seed))
    try:
        for batch in source.batches("-"):
            live.observe(batch)
            means = "  ".join(f"{row['ranker']} {row['mean']:.4f}" for row in live.to_dicts())
            typer.echo(f"{live.queries:,} queries  {means}", err=True)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
    if not live.queries:
        raise DataError("standard input contained no queries; there is nothing to measure")
    if not printer.records(live.to_dicts()):
        rows = [[r["ranker"], r["measure"], r["convention"], r["mean"]] for r in live.to_dicts()]
        printer.table(["ranker", "measure", "convention", "mean"], rows)


def _print(streams: list[Stream], printer: Printer) -> None:
    columns = list(dict.fromkeys(f"{s.measure} ({s.convention})" for s in streams))
    by_column = {(s.ranker, f"{s.measure} ({s.convention})"): s for s in streams}
    names = dict.fromkeys(s.ranker for s in streams)
    best = sorted(names, key=lambda name: -by_column[name, columns[0]].mean)
    rows = [[name, *(_spread(by_column[name, c]) for c in columns)] for name in best]
    printer.table(["ranker", *columns], rows)


def _spread(stream: Stream) -> str:
    """Return the mean, with its standard deviation if there are several permutations."""
    return f"{stream.mean:.4f}" + (f" ± {stream.std:.4f}" if len(stream.values) > 1 else "")
