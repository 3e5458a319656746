"""`rankloop journal`: look at a journal, verify it, import and export data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli import guarded
from rankloop.cli import options as o
from rankloop.cli.data_source import DenseSource
from rankloop.cli.option_groups import takes_groups
from rankloop.cli.tables import print_json, print_table, quality_cells

journal = typer.Typer(help="Look at a loop's journal, verify it, import and export data.")

Address = Annotated[str, typer.Argument(help="A file, or postgresql://user@host/database.")]
Name = Annotated[
    str,
    typer.Option(
        "--loop",
        help="Name of the loop; needed with PostgreSQL, and with several loops in --config.",
    ),
]


@journal.command("stats")
@guarded
def stats(address: Address, loop: Name = "loop", json: o.Json = False) -> None:
    """Count the entries of each kind."""
    from rankloop.serving import operations as do
    from rankloop.serving.starting import existing_journal

    with existing_journal(address, loop) as opened:
        found = do.stats(opened)
    if json:
        print_json(found._asdict())
    else:
        print_table(["entries", "number"], [*found.kinds.items(), ("all", found.entries)])


@journal.command("verify")
@guarded
def verify(
    address: Address,
    loop: Name = "loop",
    rankings: Annotated[int, typer.Option(help="How many rankings to recompute.", min=0)] = 20,
    json: o.Json = False,
) -> None:
    """Replay everything, compare digests, recompute rankings; exit with 1 if anything differs."""
    from rankloop.serving import operations as do
    from rankloop.serving.starting import existing_journal

    with existing_journal(address, loop) as opened:
        found = do.verify(opened, rankings)
    if json:
        print_json(found._asdict())
    else:
        for fault in found.faults:
            typer.echo(f"fault: {fault}")
        if not found.faults:
            typer.echo(
                f"all is well: {found.entries:,} entries, {found.rankings_recomputed} rankings "
                f"recomputed, digest {found.digest}"
            )
    if found.faults:
        raise typer.Exit(1)


@journal.command("replay")
@guarded
def replay(
    address: Address,
    loop: Name = "loop",
    until: Annotated[
        int | None, typer.Option("--until", help="The last position to apply.", min=1)
    ] = None,
    json: o.Json = False,
) -> None:
    """Show the state after a position, computed from the entries alone."""
    from rankloop.serving import operations as do
    from rankloop.serving.snapshots import replayed
    from rankloop.serving.starting import existing_journal

    with existing_journal(address, loop) as opened:
        state = do.described(replayed(opened, until))
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
@guarded
def export(
    address: Address,
    output: Annotated[Path, typer.Argument(help="File to write: .parquet, .arrow or LETOR text.")],
    loop: Name = "loop",
) -> None:
    """Write rankings with feedback as a data set, for `rankloop train`."""
    from rankloop.data.io.formats import write_batches
    from rankloop.serving import operations as do
    from rankloop.serving.starting import existing_journal

    with existing_journal(address, loop) as opened:
        data = do.exported(opened)
    write_batches([data], output)
    typer.echo(f"{output}: {data}")


MasterKey = Annotated[
    str,
    typer.Option("--master-key-file", help="File of master keys; or set RANKLOOP_MASTER_KEY."),
]


@journal.command("clicks")
@guarded
def clicks(
    address: Address,
    output: Annotated[Path, typer.Argument(help="File to write: .csv or .parquet.")],
    loop: Name = "loop",
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
    from rankloop.serving.starting import existing_journal

    ranker = None if model is None else load(model)
    with existing_journal(address, loop) as opened:
        log = do.exported_clicks(opened, vault_if_any(opened, master_key_file))
        scores = {} if ranker is None else {"score": do.scored_as_shown(opened, ranker)}
    write_click_table(log, output, **scores)
    typer.echo(f"{output}: {log}")
    for note in log.notes:
        typer.echo(note)


@journal.command("import")
@guarded
@takes_groups
def import_(
    address: Address,
    source: DenseSource,
    loop: Name = "loop",
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", help="Settings file, to start a journal or to change its settings."
        ),
    ] = None,
) -> None:
    """Import judged data, or logs with one JSON object per line: rankings and events (.jsonl)."""
    from time import time

    from rankloop.serving.starting import needs_extra

    needs_extra()
    from rankloop.serving.operations import import_files

    if not source.data:
        raise typer.BadParameter("Missing argument 'DATA...': give files of judged data, or logs")
    at, logs = int(1000 * time()), source.format is None
    for line in import_files(address, loop, source.data, source.read, config, at, logs):
        typer.echo(line)


@journal.command("compact")
@guarded
def compact(
    address: Address,
    archive: Annotated[Path, typer.Argument(help="Parquet file for the old entries.")],
    loop: Name = "loop",
    until: Annotated[
        int | None,
        typer.Option(
            "--until", help="Move entries up to this position; keep all later ones.", min=1
        ),
    ] = None,
) -> None:
    """Move old entries into a Parquet file; a saved state takes their place."""
    from rankloop.serving import operations as do
    from rankloop.serving.starting import existing_journal

    with existing_journal(address, loop) as opened:
        last = do.compact(opened, archive, until)
    typer.echo(f"{archive}: entries up to {last:,}")


@journal.command("actions")
@guarded
def actions(
    address: Address,
    loop: Name = "loop",
    last: Annotated[int, typer.Option(help="Number of latest actions to show.", min=1)] = 50,
    json: o.Json = False,
) -> None:
    """Show the actions of operators (promotions, rollbacks and others): who, what and when."""
    from rankloop.serving.audit import acts_of
    from rankloop.serving.starting import existing_journal

    with existing_journal(address, loop) as opened:
        found = acts_of(opened, last)
    rows = [[one.position, one.at, one.by, one.act, one.what, one.reason] for one in found]
    names = ["entry", "at", "by", "act", "what", "reason"]
    if json:
        print_json([dict(zip(names, row, strict=True)) for row in rows])
    else:
        print_table(names, rows)


@journal.command("personal")
@guarded
def personal(address: Address, loop: Name = "loop", master_key_file: MasterKey = "") -> None:
    """Show the personal data that is kept, one JSON object per ranking."""
    from json import dumps

    from rankloop.serving.operations.personal import personal as kept
    from rankloop.serving.operations.personal import vault_for
    from rankloop.serving.starting import existing_journal

    with existing_journal(address, loop) as opened:
        for found in kept(opened, vault_for(opened, master_key_file)):
            typer.echo(dumps(found, ensure_ascii=False))


@journal.command("forget")
@guarded
def forget(
    address: Address,
    loop: Name = "loop",
    user: Annotated[str | None, typer.Option("--user", help="Id of the user.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Id of the session, if no user was sent.")
    ] = None,
    ranking: Annotated[
        str | None, typer.Option("--ranking", help="Id of a ranking that the person saw.")
    ] = None,
    by: Annotated[str, typer.Option("--by", help="Your name, for the journal.")] = "command line",
    master_key_file: MasterKey = "",
) -> None:
    """Destroy a person's keys, so that their personal data can never be read again."""
    from rankloop.serving.operations import personal as do
    from rankloop.serving.starting import existing_journal

    with existing_journal(address, loop) as opened:
        vault = do.vault_for(opened, master_key_file)
        keys = do.forget(opened, vault, by, user, session, ranking)
    typer.echo(f"forgotten: {keys} key{'s' * (keys != 1)} destroyed")
