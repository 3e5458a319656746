"""A process that is killed in the middle of an upgrade of the schema: the next one completes it."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys

import psycopg
import pytest
from psycopg import sql

from rankloop.serving.journal import postgres, sqlite
from rankloop.serving.journal.base import SCHEMA, make_row, place_rows
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Observed

UPGRADE = """
import os, signal, sqlite3, sys
import psycopg
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal import session, sqlite

left = int(sys.argv[2])

def count(statement):
    global left
    if "CREATE " in str(statement) or "user_version=" in str(statement):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

class Slite(sqlite3.Connection):
    def execute(self, statement, *values):
        count(statement)
        return super().execute(statement, *values)

connect = sqlite3.connect
sqlite.sqlite3.connect = lambda *given, **more: connect(*given, factory=Slite, **more)
execute = session.PatientConnection.execute

def counted(self, statement, *values, **more):
    count(statement if isinstance(statement, str) else statement.as_string(self))
    return execute(self, statement, *values, **more)

session.PatientConnection.execute = counted
open_journal(sys.argv[1], "loop").close()
"""


def make_first_version(address):
    """A journal as the first version of the schema had it, with entries of today."""
    rows = [make_row(Observed(f"e{n}", "r", "a"), n) for n in range(3)]
    entries = place_rows(rows, {}, 0)[1]
    values = [(r.position, r.at, r.key, r.fingerprint, r.body, r.check) for r in entries]
    if address.startswith("postgresql"):
        schema = sql.Identifier("rankloop_loop")
        with psycopg.connect(address) as database, database.cursor() as cursor:
            cursor.execute(sql.SQL(postgres._STEPS[0]).format(schema=schema))
            insert = "INSERT INTO rankloop_loop.entries VALUES (%s, %s, %s, %s, %s, %s)"
            cursor.executemany(insert, values)
        return
    database = sqlite3.connect(address)
    with database:
        database.executescript(f"{sqlite._STEPS[0]}; PRAGMA user_version=1")
        database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", values)
    database.close()


@pytest.mark.slow
def test_an_upgrade_that_is_killed_is_done_by_the_next_start(address):
    address, name = address
    make_first_version(address)
    killed = 0
    for left in range(1 + SCHEMA):
        done = subprocess.run([sys.executable, "-c", UPGRADE, address, str(left)], check=False)
        assert done.returncode in (0, -signal.SIGKILL)
        killed += done.returncode != 0
        if done.returncode == 0:
            break
    assert killed >= 2
    with open_journal(address, name) as journal:
        assert [record.entry.id for record in journal.scan()] == ["e0", "e1", "e2"]
        assert journal.append([make_row(Observed("e3", "r", "a"), 3)])[0].position == 4
        assert journal.key() is None
        assert journal.fold_positions() == []
        assert journal.find_faults() == []
