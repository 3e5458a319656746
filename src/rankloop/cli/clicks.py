"""`rankloop clicks`: logs of what people clicked, looked at, explained and put to use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from rankloop.clicks.log.log import ClickLog

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Inspect click logs, fit click models to them, and use them.",
)

Log = Annotated[
    list[Path],
    typer.Argument(
        metavar="LOG...",
        help="A table with one row per shown document, UBI queries and events, or Yandex's text.",
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="table, ubi or yandex; by default, the suffix decides."),
]
Column = Annotated[
    list[str],
    typer.Option(
        "--column", help="Column of a table, such as query=srch_id; repeat.", metavar="R=C"
    ),
]
Ranks = Annotated[
    int, typer.Option("--ranks", help="Number of positions with their own value.", min=1)
]


@app.command("inspect")
def inspect(log: Log, format: Format = None, column: Column = [], json: o.Json = False) -> None:
    """Summarise a log, and warn if position bias cannot be estimated from it."""
    from rankloop.clicks.log.summary import summarise_log

    summary = summarise_log(_read(log, format, column))
    if json:
        print_json(summary.to_dict())
        return
    facts = ("pages", "queries", "documents", "shown", "clicks", "clicked_pages", "moved")
    print_table(["", ""], [[name.replace("_", " "), getattr(summary, name)] for name in facts])
    rates = zip(summary.positions[:20], summary.click_rates[:20], strict=True)
    print_table(["position", "click rate"], rates)
    for note in summary.notes:
        typer.echo(note)


@app.command("fit")
def fit(
    log: Log,
    model: Annotated[
        list[str], typer.Option("--model", help="Click model, such as pbm or dbn; repeat.")
    ] = ["global-ctr", "rank-ctr", "document-ctr", "pbm", "sdbn", "dbn", "ubm"],
    test: Annotated[
        Path | None,
        typer.Option("--test", help="Test log; by default, a quarter of the pages is held out."),
    ] = None,
    bias: Annotated[
        list[str],
        typer.Option("--bias", help="Estimate position bias: random, all-pairs or adjacent."),
    ] = [],
    ranks: Ranks = 10,
    plot: o.Plot = None,
    format: Format = None,
    column: Column = [],
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Fit click models, or estimate position bias with --bias."""
    import numpy as np

    from rankloop.clicks.bias.registry import make_bias_estimator
    from rankloop.clicks.bias.result import estimate_bias
    from rankloop.clicks.log.summary import check_separable
    from rankloop.clicks.models.evaluation import fit_models

    pages = _read(log, format, column)
    if not bias:
        held_out = None if test is None else _read([test], format, column)
        models = [result.to_dict() for result in fit_models(model, pages, held_out, seed=seed)]
        columns = ["model", "log_likelihood", "perplexity", "conditional_perplexity"]
        if json:
            print_json(models)
        else:
            best = sorted(models, key=lambda row: -row["log_likelihood"])
            print_table(columns, [[row[name] for name in columns] for row in best])
        return
    if {*bias} - {"random"}:  # where the user says that the order was random
        check_separable(pages)
    rng = np.random.default_rng(seed)
    results = [estimate_bias(make_bias_estimator(name, ranks), pages, rng) for name in bias]
    if plot is not None:
        from rankloop.plotting.bias import plot_bias
        from rankloop.plotting.figures import save_figure

        save_figure(plot_bias(results, bias), plot)
    if json:
        print_json([result.to_dict() for result in results])
        return
    for name, result in zip(bias, results, strict=True):
        rows = zip(result.positions, result.examination, result.low, result.high, strict=True)
        table = [[int(k), *map(float, values)] for k, *values in rows]
        print_table(["position", "examination", "low", "high"], table, title=name)


@app.command("judge")
def judge(
    log: Log,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: .csv, or .json for OpenSearch.")
    ],
    by: Annotated[str, typer.Option("--by", help="coec, or a click model such as pbm.")] = "coec",
    least_views: Annotated[
        float, typer.Option("--least-views", help="Leave out documents shown less often.")
    ] = 1.0,
    grades: Annotated[
        int | None, typer.Option("--grades", help="Turn ratings into this many grades.", min=2)
    ] = None,
    format: Format = None,
    column: Column = [],
    json: o.Json = False,
) -> None:
    """Turn clicks into judgements of queries and documents."""
    from rankloop.clicks.judgements import judge_clicks, write_judgements

    judgements = judge_clicks(_read(log, format, column), by, least_views)
    write_judgements(judgements if grades is None else judgements.to_grades(grades), output)
    if json:
        print_json({"file": str(output), "by": by, "judgements": len(judgements)})
    else:
        typer.echo(f"{output}: {len(judgements):,} judgements by {by}")


@app.command("evaluate")
def evaluate(
    log: Annotated[Path, typer.Argument(help="A table with a column of scores.")],
    score: Annotated[str, typer.Option("--score", help="Column of the ranker's scores.")],
    examination: Annotated[
        str,
        typer.Option(
            "--examination",
            help="By position, such as 1,0.6,0.4; or estimate it: random, all-pairs, adjacent.",
        ),
    ],
    estimator: Annotated[
        list[str], typer.Option("--estimator", help="ips, snips, dr or direct; repeat.")
    ] = ["ips"],
    measure: Annotated[
        str, typer.Option("--measure", "-m", help="clicks, DCG, DCG@k or P@k.")
    ] = "DCG@10",
    clip: Annotated[float, typer.Option("--clip", help="Smallest propensity.", min=0, max=1)] = 0.0,
    ranks: Ranks = 10,
    column: Column = [],
    json: o.Json = False,
) -> None:
    """Estimate the value of a ranker that was never shown, and compare it with the logged one."""
    from rankloop.clicks.log.table import read_click_values
    from rankloop.clicks.offpolicy.registry import compare_policies, examination_of

    pages = _read([log], "table", column)
    scores = read_click_values(log, score, pages)
    seen = examination_of(examination, pages, ranks)
    values = compare_policies(pages, scores, seen, estimator, measure, clip)
    if json:
        print_json(values)
        return
    columns = ["of", "estimator", "measure", "value", "low", "high", "effective_size"]
    print_table(columns, [[row[name] for name in columns] for row in values])


@app.command("simulate")
@takes_groups
def simulate(
    source: DataSource,
    output: Annotated[Path, typer.Option("--output", "-o", help="Log to write, .csv or .parquet.")],
    user: Annotated[
        str,
        typer.Option(
            "--user",
            help="perfect, navigational, informational or almost-random, who stop after a click, "
            "or after any document with :document; cascade or ultra.",
        ),
    ] = "informational",
    feature: Annotated[
        int | None,
        typer.Option("--feature", help="Rank by this feature; default: at random.", min=1),
    ] = None,
    noise: Annotated[
        float, typer.Option("--noise", help="Noise on the ranking of each page.", min=0)
    ] = 0.0,
    impressions: Annotated[
        int, typer.Option("--impressions", help="Number of pages shown for each query.", min=1)
    ] = 10,
    k: Annotated[int, typer.Option("-k", help="Number of documents on a page.", min=1)] = 10,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Make a log: rank judged queries, and let a simulated user click."""
    import numpy as np

    from rankloop.clicks.log.simulate import simulate_log, write_click_table
    from rankloop.clicks.users import user_for

    queries = source.read()
    scores = None if feature is None else queries.X[:, feature - 1]
    rng = np.random.default_rng(seed)
    log = simulate_log(
        queries, scores, user_for(queries.y, user), rng, impressions=impressions, k=k, noise=noise
    )
    write_click_table(log, output)
    if json:
        print_json({"file": str(output), "pages": len(log), "clicks": int(log.clicks.sum())})
    else:
        typer.echo(f"{output}: {log}")


def _read(paths: list[Path], format: str | None, columns: list[str]) -> ClickLog:
    from rankloop.clicks.log.reading import read_clicks

    named = {}
    for text in columns:
        role, equals, name = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"write a column such as query=srch_id; found {text!r}")
        named[role.strip()] = name.strip()
    return read_clicks(paths, format, named)
