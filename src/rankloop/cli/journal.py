"""`rankloop journal`: look at a journal, verify it, import and export data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli import catch_errors
from rankloop.cli import options as o
from rankloop.cli.data_source import DenseSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import print_json, print_table, quality_cells

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal

journal = typer.Typer(
    add_completion=False, help="Look at a loop's journal, verify it, import and export data."
)

Address = Annotated[str, typer.Argument(help="A file, or postgresql://user@host/database.")]
Name = Annotated[
    str | None,
    typer.Option(
        "--loop",
        help="Name of the loop, if the database or --config has several.",
        show_default="the only one",
    ),
]


def _open(address: str, loop: str | None) -> Journal:
    from rankloop.serving.journal.opening import open_existing_journal

    return open_existing_journal(address, loop)


By = Annotated[str, typer.Option("--by", help="Your name, for the journal.")]


@journal.command("stats")
@catch_errors
def stats(address: Address, loop: Name = None, json: o.Json = False) -> None:
    """Count the entries of each kind."""
    from rankloop.serving import operations as do

    with _open(address, loop) as opened:
        statistics = do.stats(opened)
    if json:
        print_json(statistics._asdict())
    else:
        print_table(["entries", "number"], [*statistics.kinds.items(), ("all", statistics.entries)])


@journal.command("verify")
@catch_errors
def verify(
    address: Address,
    loop: Name = None,
    rankings: Annotated[int, typer.Option(help="How many rankings to recompute.", min=0)] = 20,
    json: o.Json = False,
) -> None:
    """Replay everything, compare digests, recompute rankings; exit with 1 if anything differs."""
    from rankloop.serving import operations as do
    from rankloop.serving.operations.personal import vault_if_any

    with _open(address, loop) as opened:
        report = do.verify(opened, rankings, vault_if_any(opened))
    if json:
        print_json(report._asdict())
    else:
        for fault in report.faults:
            typer.echo(f"fault: {fault}")
        if not report.faults:
            typer.echo(
                f"all is well: {report.entries:,} entries, {report.rankings_recomputed} rankings "
                f"recomputed, features of {report.features_recomputed:,} computed again, digest "
                f"{report.digest}"
            )
    if report.faults:
        raise typer.Exit(1)


@journal.command("replay")
@catch_errors
def replay(
    address: Address,
    loop: Name = None,
    until: Annotated[
        int | None, typer.Option("--until", help="The last position to apply.", min=1)
    ] = None,
    json: o.Json = False,
) -> None:
    """Show the state after a position, computed from the entries alone."""
    from rankloop.serving import operations as do
    from rankloop.serving.engine.snapshots import replay

    with _open(address, loop) as opened:
        state = do.describe(replay(opened, until))
    if json:
        print_json(state)
        return
    typer.echo(f"position {state['position']:,}, digest {state['digest']}")
    rows = [
        [
            name,
            "*" if name == state["champion"] else "",
            *quality_cells(m["rankings"], m["mean"], m["recent"]),
        ]
        for name, m in state["models"].items()
    ]
    print_table(["model", "champion", "rankings", "nDCG@10", "recent"], rows)


@journal.command("export")
@catch_errors
def export(
    address: Address,
    output: Annotated[Path, typer.Argument(help="File to write: .parquet, .arrow or LETOR text.")],
    loop: Name = None,
) -> None:
    """Write rankings with feedback as a data set, for `rankloop train`."""
    from rankloop.data.io.formats import write_batches
    from rankloop.serving import operations as do

    with _open(address, loop) as opened:
        data = do.export_queries(opened)
    write_batches([data], output)
    typer.echo(f"{output}: {data}")


MasterKey = Annotated[
    str,
    typer.Option("--master-key-file", help="File of master keys; or set RANKLOOP_MASTER_KEY."),
]


@journal.command("clicks")
@catch_errors
def clicks(
    address: Address,
    output: Annotated[Path, typer.Argument(help="File to write: .csv or .parquet.")],
    loop: Name = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", help="Model file; its scores become a column, `score`."),
    ] = None,
    master_key_file: MasterKey = "",
) -> None:
    """Write what was shown and clicked as a log, for `rankloop clicks`."""
    from rankloop.clicks.log.simulate import write_click_table
    from rankloop.rankers.model_files.saving import load
    from rankloop.serving import operations as do
    from rankloop.serving.operations.personal import vault_if_any

    ranker = None if model is None else load(model)
    with _open(address, loop) as opened:
        log = do.export_clicks(opened, vault_if_any(opened, master_key_file))
        scores = {} if ranker is None else {"score": do.score_as_shown(opened, ranker)}
    write_click_table(log, output, **scores)
    typer.echo(f"{output}: {log}")
    for note in log.notes:
        typer.echo(note)


@journal.command("import")
@catch_errors
@takes_groups
def import_(
    address: Address,
    source: DenseSource,
    loop: Name = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", help="Settings file, to start a journal or to change its settings."
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option("--items", help="Catalogue, for a loop that computes features."),
    ] = None,
    item_id: Annotated[
        str | None, typer.Option("--item-id", help="Column of the ids; default: id, item_id ...")
    ] = None,
    unit: Annotated[
        str, typer.Option("--unit", help="Unit of times in logs: s, ms, or guess, by their size.")
    ] = "guess",
    master_key_file: MasterKey = "",
) -> None:
    """Import judged data, or logs with one JSON object per line: rankings and events (.jsonl)."""
    from time import time

    from rankloop.serving.operations import import_files
    from rankloop.serving.operations.history import LogSource
    from rankloop.serving.operations.settings import choose_loop

    if not source.data and items is None:
        raise typer.BadParameter("Missing argument 'DATA...': give files of judged data, or logs")
    if unit not in ("guess", "s", "ms"):
        raise typer.BadParameter(f"--unit must be guess, s or ms; found {unit!r}")
    at, logs = int(1000 * time()), source.format is None
    how = LogSource((), items, item_id, unit, master_key_file)  # type: ignore[arg-type] # as checked
    name = loop or choose_loop(address, config)
    for line in import_files(address, name, source.data, source.read, config, at, logs, how):
        typer.echo(line)


@journal.command("backfill")
@catch_errors
def backfill(
    address: Address,
    loop: Name = None,
    ranker: Annotated[
        str, typer.Option("--ranker", "-r", help="One of the loop's rankers; default: the first.")
    ] = "",
    name: Annotated[
        str, typer.Option("--name", help="Name of the model; default: the ranker's, with .past.")
    ] = "",
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="File that keeps what was done; an interrupted backfill goes on with it.",
        ),
    ] = None,
    archives: Annotated[
        list[Path],
        typer.Option("--archive", help="Archive of a compacted journal; give all of them."),
    ] = [],
    master_key_file: MasterKey = "",
    by: By = "command line",
    json: o.Json = False,
) -> None:
    """Let a ranker learn from the whole past with the present features; it is a challenger then."""
    from contextlib import ExitStack
    from dataclasses import asdict
    from time import time

    from rankloop.cli.progress import progress_bar
    from rankloop.serving.journal.opening import open_existing_journal
    from rankloop.serving.operations.archives import Archives
    from rankloop.serving.operations.backfill import backfill
    from rankloop.serving.operations.personal import vault_if_any

    with ExitStack() as stack:
        opened = stack.enter_context(open_existing_journal(address, loop))
        known = stack.enter_context(Archives(archives)) if archives else None
        progress = stack.enter_context(progress_bar("backfill"))
        vault, at = vault_if_any(opened, master_key_file), int(1000 * time())
        made = backfill(opened, ranker, name, checkpoint, vault, by, at, progress, known)
    if json:
        print_json(asdict(made))
        return
    resumed = f", {made.resumed:,} of them before" if made.resumed else ""
    since = ""
    if made.first > 1:
        since = f" from entry {made.first:,} on; for those before it, give its --archive files"
    typer.echo(f"{made.name}: learnt from {made.rankings:,} rankings{resumed}{since}")
    typer.echo(
        f"  nDCG@10 {made.quality:.4f}, each ranking before it was learnt; the champion "
        f"{made.champion} had {made.champion_quality:.4f}"
    )


@journal.command("compact")
@catch_errors
def compact(
    address: Address,
    archive: Annotated[Path, typer.Argument(help="Parquet file for the old entries.")],
    loop: Name = None,
    until: Annotated[
        int | None,
        typer.Option(
            "--until", help="Move entries up to this position; keep all later ones.", min=1
        ),
    ] = None,
) -> None:
    """Move old entries into a Parquet file; a saved state takes their place."""
    from time import time

    from rankloop.serving import operations as do

    with _open(address, loop) as opened:
        last = do.compact(opened, archive, until, int(1000 * time()))
    typer.echo(f"{archive}: entries up to {last:,}")


@journal.command("recompute")
@catch_errors
def recompute(
    address: Address,
    archives: Annotated[
        list[Path], typer.Argument(help="All archives that were made of the journal.")
    ],
    config: Annotated[Path, typer.Option("--config", "-c", help="Settings with the new features.")],
    loop: Name = None,
) -> None:
    """Compute new features of a compacted journal, from its archives and its entries."""
    from time import time

    from rankloop.serving.journal.opening import open_existing_journal
    from rankloop.serving.operations.importing import settings_in
    from rankloop.serving.operations.recompute import recompute
    from rankloop.serving.operations.settings import choose_loop

    name = loop or choose_loop(address, config)
    with open_existing_journal(address, name) as opened:
        last = recompute(opened, settings_in(config, name), archives, int(1000 * time()))
    typer.echo(f"{address}: features computed from {last:,} entries; start the service with them")


@journal.command("backup")
@catch_errors
def backup(
    address: Annotated[str, typer.Argument(help="The journal, a file.")],
    copy: Annotated[Path, typer.Argument(help="The new file.")],
) -> None:
    """Copy a journal into a new file and check the copy; services may go on meanwhile."""
    from rankloop.serving import operations as do

    typer.echo(f"{copy}: entries up to {do.backup(address, copy):,}")


@journal.command("restore")
@catch_errors
def restore(
    copy: Annotated[Path, typer.Argument(help="File that `rankloop journal backup` wrote.")],
    address: Annotated[str, typer.Argument(help="The journal, a file; stop its services first.")],
) -> None:
    """Put a copy in the place of a journal, which is moved away."""
    from time import time

    from rankloop.serving import operations as do

    head, old = do.restore(copy, address, time())
    typer.echo(f"{address}: entries up to {head:,}")
    if old is not None:
        typer.echo(f"{old}: what was there before")


@journal.command("quarantine")
@catch_errors
def quarantine(
    address: Address,
    position: Annotated[int, typer.Argument(help="Position of the entry to leave out.", min=1)],
    loop: Name = None,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the journal.")] = "",
    by: By = "command line",
) -> None:
    """Leave out an entry that ends or harms the loop; all processes continue without it."""
    from time import time

    from rankloop.serving import operations as do

    with _open(address, loop) as opened:
        stored = do.quarantine(opened, position, reason, by, int(1000 * time()))
    typer.echo(f"entry {position:,} is left out from entry {stored:,} on")


@journal.command("retry")
@catch_errors
def retry(
    address: Address,
    position: Annotated[
        int, typer.Argument(help="Position of the closing or judgement that failed.", min=1)
    ],
    loop: Name = None,
    by: By = "command line",
) -> None:
    """Let the loop learn again from an entry that failed, for example after an upgrade."""
    from time import time

    from rankloop.serving import operations as do

    with _open(address, loop) as opened:
        stored = do.retry(opened, position, by, int(1000 * time()))
    typer.echo(f"entry {position:,} is applied again by entry {stored:,}")


@journal.command("actions")
@catch_errors
def actions(
    address: Address,
    loop: Name = None,
    last: Annotated[int, typer.Option(help="Number of latest actions to show.", min=1)] = 50,
    json: o.Json = False,
) -> None:
    """Show the actions of operators (promotions, rollbacks and others): who, what and when."""
    from rankloop.serving.security.audit import read_actions

    with _open(address, loop) as opened:
        recent = read_actions(opened, last)
    rows = [
        [action.position, action.at, action.by, action.action, action.what, action.reason]
        for action in recent
    ]
    names = ["entry", "at", "by", "action", "what", "reason"]
    if json:
        print_json([dict(zip(names, row, strict=True)) for row in rows])
    else:
        print_table(names, rows)


@journal.command("personal")
@catch_errors
def personal(address: Address, loop: Name = None, master_key_file: MasterKey = "") -> None:
    """Show the personal data that is kept, one JSON object per ranking."""
    from json import dumps

    from rankloop.serving.operations.personal import personal as read_personal
    from rankloop.serving.operations.personal import vault_for

    with _open(address, loop) as opened:
        for ranking in read_personal(opened, vault_for(opened, master_key_file)):
            typer.echo(dumps(ranking, ensure_ascii=False))


@journal.command("forget")
@catch_errors
def forget(
    address: Address,
    loop: Name = None,
    user: Annotated[str | None, typer.Option("--user", help="Id of the user.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Id of the session, if no user was sent.")
    ] = None,
    ranking: Annotated[
        str | None, typer.Option("--ranking", help="Id of a ranking that the person saw.")
    ] = None,
    by: By = "command line",
    master_key_file: MasterKey = "",
) -> None:
    """Destroy a person's keys, so that their personal data can never be read again."""
    from rankloop.serving.operations import personal as do

    with _open(address, loop) as opened:
        vault = do.vault_for(opened, master_key_file)
        keys, erased = do.forget(opened, vault, by, user, session, ranking)
    typer.echo(f"forgotten: {keys} key{'s' * (keys != 1)} destroyed")
    if not erased:
        typer.echo(
            "pending: the file shows them until other processes no longer read it; a running "
            "service then erases them, otherwise run this command again"
        )
