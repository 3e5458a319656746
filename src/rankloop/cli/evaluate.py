"""`rankloop evaluate`: measure a ranking."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import options as o
from rankloop.cli.data_source import DataSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import Printer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.evaluation import Result


@takes_groups
def evaluate(
    source: DataSource,
    printer: Printer,
    scores: Annotated[
        Path | None,
        typer.Option("--scores", help="Text file: one score per line, in the data's row order."),
    ] = None,
    run: Annotated[Path | None, typer.Option("--run", help="TREC run file.")] = None,
    model: Annotated[Path | None, typer.Option("--model", help="Model file.")] = None,
    measures: o.Measures = ["nDCG@10"],
    convention: o.Conventions = ["standard"],
    per_query: Annotated[bool, typer.Option("--per-query", help="Show every query.")] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show each measure under every convention, with reasons."),
    ] = False,
    cluster: o.Cluster = None,
) -> None:
    """Measure a ranking against judged data."""
    from rankloop.cli.systems import read_system
    from rankloop.measures.evaluation import evaluate as measure

    given = {"scores": scores, "run": run, "model": model}
    systems = [(path, kind) for kind, path in given.items() if path is not None]
    if len(systems) != 1:
        raise typer.BadParameter("give one ranking: --scores FILE, --run FILE or --model FILE")
    if explain and (per_query or len(convention) > 1):
        what = "--per-query" if per_query else "more than one --convention"
        raise typer.BadParameter(f"--explain shows all conventions: leave out {what}")
    if cluster is not None:
        if model is None or per_query or explain:
            raise typer.BadParameter(
                "--cluster measures a --model; leave out --per-query and --explain"
            )
        _show(_on_cluster(cluster, source, model, measures, convention), printer)
        return
    judged = source.read()
    system = read_system(judged, *systems[0])
    if explain:
        _explain(system.data, system.scores, measures, convention[0], printer)
        return
    results = [
        result
        for name in convention
        for result in measure(system.data, system.scores, measures, name)
    ]
    if printer.json:
        printer.records([_as_dict(result, system.data, per_query) for result in results])
        return
    if per_query:
        columns = ["query", *(f"{r.measure} ({r.convention})" for r in results)]
        values = zip(system.data.query_ids, *(r.values for r in results), strict=True)
        printer.table(columns, ([str(row[0]), *map(float, row[1:])] for row in values))
    if not (per_query and printer.csv):
        _show(results, printer)
    for note in system.notes:
        printer.note(note)


def _show(results: list[Result], printer: Printer) -> None:
    if printer.json:
        printer.records([result.to_dict() for result in results])
        return
    rows = ([r.measure, r.convention, r.mean, r.queries, r.left_out] for r in results)
    printer.table(["measure", "convention", "mean", "queries", "left out"], rows)


def _on_cluster(
    cluster: str, source: DataSource, model: Path, measures: list[str], conventions: list[str]
) -> list[Result]:
    from rankloop.cli.progress import parts_progress
    from rankloop.distributed import Parts, connect
    from rankloop.distributed import evaluate as measure
    from rankloop.rankers.model_files.saving import load
    from rankloop.rankers.training import read_like

    ranker = load(model)
    options = {**source.options, **read_like(ranker)}
    with connect(cluster) as client, parts_progress() as tell:
        parts = Parts(client, source.places, **options)
        return [
            result
            for name in conventions
            for result in measure(ranker, parts, measures, name, on_progress=tell)
        ]


def _as_dict(result: Result, data: QueryDataset, per_query: bool) -> dict[str, object]:
    row = result.to_dict()
    if per_query:
        row["per_query"] = [
            {"query": query, "value": None if value != value else value}
            for query, value in zip(data.query_ids.tolist(), result.values.tolist(), strict=True)
        ]
    return row


def _explain(
    data: QueryDataset, scores: ArrayLike, metrics: list[str], base: str, printer: Printer
) -> None:
    from rankloop.measures.explain import explain_measure

    explanations = {name: explain_measure(data, scores, name, base) for name in metrics}
    records = [{"measure": m, **row.to_dict()} for m, rows in explanations.items() for row in rows]
    if printer.records(records):
        return
    for name, explained in explanations.items():
        rows = []
        for row in explained:
            steps = [f"{step.change:+.4f}  {step.meaning}" for step in row.steps if step.change]
            rows.append(
                [
                    row.convention,
                    row.mean,
                    row.queries,
                    row.left_out,
                    row.reason or "\n".join(steps),
                ]
            )
        title = f"{name}: {base} first; each step adds to its mean"
        printer.table(["convention", "mean", "queries", "left out", "why"], rows, title)
