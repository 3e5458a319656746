"""`rankloop clicks`: logs of what people clicked, looked at, explained and put to use."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.table import ClickTable

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Inspect click logs, fit click models to them, and use them.",
)


@dataclass(frozen=True)
class ClickLogSource:
    """The log that a command reads; each field is an option of the command line."""

    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="Files, folders or patterns: a table with one row per shown document (CSV, TSV, "
            "JSON lines, Parquet, Arrow), UBI queries and events, Yandex's text or TianGong's XML.",
            show_default=False,
        ),
    ]
    format: Annotated[
        str | None,
        typer.Option(
            "--format", help="table, ubi, yandex, relpred or tiangong; detected by default."
        ),
    ] = None
    column: Annotated[
        list[str],
        typer.Option(
            "--column",
            help="Column of a table, such as query=srch_id, or page=user,minute; repeat.",
            metavar="R=C",
        ),
    ] = field(default_factory=list)
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out bad rows, and count them.")
    ] = False
    drop_duplicates: Annotated[
        bool,
        typer.Option(
            "--drop-duplicates", help="Tables: leave out rows that repeat another one of a page."
        ),
    ] = False
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", help="CSV, TSV: the encoding, such as latin-1.", metavar="E"),
    ] = None

    @property
    def columns(self) -> dict[str, str]:
        """The columns that are named, by role."""
        named = {}
        for text in self.column:
            role, equals, name = text.partition("=")
            if not equals:
                raise typer.BadParameter(f"write a column such as query=srch_id; found {text!r}")
            named[role.strip()] = name.strip()
        return named

    def read(self, *places: str) -> ClickLog:
        """Read the log, or other files with the same options."""
        from rankloop._utils.argument_names import named_by
        from rankloop.clicks.log.reading import read_clicks

        with named_by(_name_column):
            return read_clicks(places or self.log, self.format, self.columns, **self._options)

    def table(self) -> ClickTable:
        """Read a table with its other columns."""
        from rankloop._utils.argument_names import named_by
        from rankloop.clicks.log.reading import read_click_rows

        if self.format not in (None, "table"):
            raise typer.BadParameter(f"this command reads tables; found --format {self.format}")
        with named_by(_name_column):
            return read_click_rows(self.log, self.columns, **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        names = ("skip_bad_rows", "drop_duplicates", "encoding")
        return {name: getattr(self, name) for name in names}


Ranks = Annotated[
    int, typer.Option("--ranks", help="Number of positions with their own value.", min=1)
]


@app.command("inspect")
@takes_groups
def inspect(source: ClickLogSource, json: o.Json = False) -> None:
    """Summarise a log, and warn if position bias cannot be estimated from it."""
    from rankloop.clicks.log.summary import summarise_log

    summary = summarise_log(source.read())
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
@takes_groups
def fit(
    source: ClickLogSource,
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
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Fit click models, or estimate position bias with --bias."""
    import numpy as np

    from rankloop.clicks.bias.registry import make_bias_estimator
    from rankloop.clicks.bias.result import estimate_bias
    from rankloop.clicks.log.summary import check_separable
    from rankloop.clicks.models.evaluation import fit_models

    pages = source.read()
    if not bias:
        held_out = None if test is None else source.read(str(test))
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
@takes_groups
def judge(
    source: ClickLogSource,
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
    json: o.Json = False,
) -> None:
    """Turn clicks into judgements of queries and documents."""
    from rankloop.clicks.judgements import judge_clicks, write_judgements

    judgements = judge_clicks(source.read(), by, least_views)
    write_judgements(judgements if grades is None else judgements.to_grades(grades), output)
    if json:
        print_json({"file": str(output), "by": by, "judgements": len(judgements)})
    else:
        typer.echo(f"{output}: {len(judgements):,} judgements by {by}")


@app.command("evaluate")
@takes_groups
def evaluate(
    source: ClickLogSource,
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
    json: o.Json = False,
) -> None:
    """Estimate the value of a ranker that was never shown, and compare it with the logged one."""
    from rankloop.clicks.offpolicy.registry import compare_policies, examination_of

    table = source.table()
    scores = table.values(score)
    seen = examination_of(examination, table.log, ranks)
    values = compare_policies(table.log, scores, seen, estimator, measure, clip)
    if json:
        print_json(values)
        return
    columns = ["of", "estimator", "measure", "value", "low", "high", "effective_size"]
    print_table(columns, [[row[name] for name in columns] for row in values])


@app.command("train")
@takes_groups
def train(
    source: ClickLogSource,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Model file to write.", callback=o.check_with(o.check_folder)
        ),
    ],
    ranker: Annotated[
        str, typer.Option("--ranker", "-r", help="Ranker, such as auto or lambdamart:trees=100.")
    ] = "auto",
    items: Annotated[
        list[str],
        typer.Option(
            "--items",
            help="Features of the documents: a table with a column of documents (and of queries, "
            "if features depend on them), or LETOR text. By default, the other columns of the log.",
        ),
    ] = [],
    correction: Annotated[
        str,
        typer.Option(
            "--correction",
            help="naive, all-pairs, adjacent, random; auto chooses by what the log can support.",
        ),
    ] = "auto",
    drop: Annotated[
        list[str], typer.Option("--drop", help="Columns that are no features, with commas.")
    ] = [],
    category: Annotated[
        list[str],
        typer.Option("--category", help="Numeric columns that are categories, with commas."),
    ] = [],
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Train a ranker on a log and write it to one file; say how the clicks were corrected."""
    import numpy as np

    from rankloop.clicks.log.shown import features_of_items, features_of_table
    from rankloop.clicks.training import train_on_clicks
    from rankloop.rankers.registry import read_ranker

    cls, params = read_ranker(ranker)
    options = {"drop": _names(drop), "category": _names(category)}
    options = {name: values for name, values in options.items() if values}
    if items:
        log = source.read()
        shown = features_of_items(log, *items, **options)
    else:
        table = source.table()
        log, shown = table.log, features_of_table(table, **options)
    rng = np.random.default_rng(seed)
    trained = train_on_clicks(cls(**params), log, shown, correction, rng=rng)
    trained.ranker.save(output)
    gain = trained.gain
    if json:
        print_json(
            {
                "model": str(output),
                "ranker": repr(trained.ranker),
                "pages": len(log),
                "clicks": int(log.clicks.sum()),
                "features": trained.ranker.n_features_in_,
                "correction": trained.correction,
                "reason": trained.reason,
                "gain": gain and dict(zip(("value", "low", "high"), gain, strict=True)),
                "notes": list(log.notes),
            }
        )
        return
    typer.echo(f"{log}, {shown.X.shape[1]:,} features")
    for note in log.notes:
        typer.echo(f"  {note}")
    typer.echo(f"correction: {trained.correction}; {trained.reason}")
    if gain is not None:
        typer.echo(f"corrected minus naive, DCG@10: {gain[0]:.4f} ({gain[1]:.4f} to {gain[2]:.4f})")
    typer.echo(f"{output}: {trained.ranker!r}")


def _names(texts: list[str]) -> list[str]:
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


@app.command("power")
def power(
    preference: Annotated[
        float,
        typer.Option(
            "--preference",
            help="Expected share of decided impressions that prefer the better ranker, less the "
            "share that prefers the other: 0.05 is 52.5% against 47.5%.",
        ),
    ],
    decided: Annotated[
        float,
        typer.Option("--decided", help="Share of impressions whose clicks prefer one ranker."),
    ] = 0.5,
    alpha: Annotated[
        float, typer.Option("--alpha", help="Probability of a wrong winner, if both are equal.")
    ] = 0.05,
    chance: Annotated[
        float, typer.Option("--power", help="Probability of finding the better ranker.")
    ] = 0.8,
    per_day: Annotated[
        float | None, typer.Option("--per-day", help="Impressions a day, to show days.", min=1)
    ] = None,
    json: o.Json = False,
) -> None:
    """Tell how many impressions an interleaving experiment needs, before it starts."""
    from dataclasses import asdict

    from rankloop.clicks.interleaving.power import Effect, plan

    rows = plan(Effect(preference, decided), alpha, chance)

    def days(impressions: int | None) -> float | None:
        return None if per_day is None or impressions is None else impressions / per_day

    if json:
        print_json([{**asdict(row), "days": days(row.impressions)} for row in rows])
        return
    columns = ["method", "impressions", "half end by", *([] if per_day is None else ["days"])]
    print_table(
        columns,
        [
            [row.method, row.impressions, row.half, days(row.impressions)][: len(columns)]
            for row in rows
        ],
    )


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


def _name_column(argument: str, value: object = None) -> str:
    """Write a role of a click table as the option that names its column."""
    from rankloop.clicks.log.columns import ROLES

    if argument not in ROLES:
        return o.name_option(argument, value)
    return f"--column {argument}={'COLUMN' if value is None else value}"
