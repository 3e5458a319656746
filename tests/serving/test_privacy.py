"""Personal fields: encrypted, shown to operators, forgotten for ever; no state depends on them."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from rankloop.cli import main
from rankloop.client import Client
from rankloop.serving.engine.snapshots import replay
from rankloop.serving.journal.action_entries import Forgotten
from rankloop.serving.journal.base import JournalError, StoredKey, make_row
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Observed, Ranked
from rankloop.serving.operations import export_clicks
from rankloop.serving.security.vault import Personal, Vault
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.keyring import MASTER, new_key, read_keys
from rankloop.serving.settings.service import as_settings

from .tools import running, until

SECRET = "where is the nearest clinic"
ITEMS = [{"id": "a", "features": [1.0, 0.5]}, {"id": "b", "features": [0, 1]}]
RANK = {"items": ITEMS, "query": SECRET, "user": "ada@example.org", "about": {"city": "Turin"}}


@pytest.fixture
def start(address, monkeypatch):
    """Start a service on one journal, as often as is wanted."""
    monkeypatch.setenv(MASTER, new_key())
    where, name = address
    with ExitStack() as stack:

        def make(**loop):
            values = {"features": 2, "rankers": ["solar-i"], "journal": where, "window": 3600}
            service = Service.start(as_settings({"loops": {name: values | loop}}))
            stack.callback(service.stop)
            http = stack.enter_context(running(service))
            http.base_url = f"{http.base_url}/v1/{name}/"
            return service.loops[name], http

        yield make


def forget(http, **whom):
    answer = http.post("forget", json=whom)
    assert answer.status_code == 200, answer.text
    return answer.json()


def shown(http, ranking_id):
    return http.get(f"rankings/{ranking_id}/personal").json()


def give_feedback(loop, http, ranking_id):
    http.post("judgements", json={"ranking_id": ranking_id, "grades": {"a": 0, "b": 1}})
    loop.settle()


@pytest.mark.slow
def test_personal_fields_are_kept_until_they_are_forgotten(start, address):
    loop, http = start()
    assert http.post("rank", json=RANK | {"id": "r1"}).status_code == 200
    assert http.post("rank", json=RANK | {"id": "r2", "user": "bob"}).status_code == 200
    give_feedback(loop, http, "r1")
    kept = {"query": SECRET, "user": "ada@example.org", "about": {"city": "Turin"}}
    assert shown(http, "r1") == {"ranking_id": "r1", "status": "kept", "personal": kept}
    before = loop.inspect(lambda engine: (engine.position, engine.digest()))
    first = forget(http, user="ada@example.org", id="f1")
    assert (first["keys"], first["status"]) == (1, "accepted")
    again = forget(http, user="ada@example.org", id="f1")
    assert (again["keys"], again["status"], again["position"]) == (0, "duplicate", 5)
    assert shown(http, "r1") == {"ranking_id": "r1", "status": "forgotten"}
    assert shown(http, "r2")["status"] == "kept"
    with loop.reader() as journal:
        assert replay(journal, before[0]).digest() == before[1]
        loop.settle()
        assert replay(journal).digest() == loop.inspect(lambda engine: engine.digest())
    assert http.post("rank", json=RANK | {"id": "r3"}).status_code == 200
    assert shown(http, "r3")["status"] == "kept"  # who comes back begins anew
    assert shown(http, "r1")["status"] == "forgotten"


@pytest.mark.slow
def test_nothing_personal_lies_in_the_journal(start, address):
    loop, http = start()
    http.post("rank", json=RANK | {"id": "r1", "session": "s-secret"})
    logged = {"ranking_id": "r2", "items": ITEMS, "query": SECRET, "user": "bob@example.org"}
    http.post("feedback", json={"rankings": [logged], "events": []})
    assert shown(http, "r2")["personal"]["user"] == "bob@example.org"
    with loop.reader() as journal:
        rows = journal.rows()
        keys = [journal.key(r.entry.encrypted[:16]) for r in journal.scan() if r.entry.key]
    stored = b"".join([*(row.body + row.fingerprint for row in rows), *(k.name for k in keys)])
    for word in (SECRET, "ada@", "bob@", "s-secret", "Turin"):
        assert word.encode() not in stored


@pytest.mark.slow
def test_the_same_person_has_one_key_and_a_restart_finds_it(start):
    loop, http = start()
    for n in range(3):
        http.post("rank", json=RANK | {"id": f"r{n}"})
    loop.vault.forget([r.row.id for r in loop.vault._keys.values()])  # as after a restart
    http.post("rank", json=RANK | {"id": "r3"})
    with loop.reader() as journal:
        ids = {r.entry.encrypted[:16] for r in journal.scan() if isinstance(r.entry, Ranked)}
    assert len(ids) == 1
    assert forget(http, ranking_id="r0")["keys"] == 1
    assert [shown(http, f"r{n}")["status"] for n in range(4)] == ["forgotten"] * 4


@pytest.mark.slow
def test_another_process_lets_go_of_a_forgotten_key(start, address):
    loop, http = start()
    http.post("rank", json=RANK | {"id": "r1"})
    with open_journal(*address) as journal:
        ids = Vault(read_keys(MASTER)).forgettable(journal, "ada@example.org", None, None)
        journal.append([make_row(Forgotten("f", ids, "somebody else"), 1)])
    until(lambda: loop.vault.at_hand("user ada@example.org") is None)
    assert loop.actions.last()[-1].by == "somebody else"


def test_a_destroyed_key_is_never_stored_again(address):
    """Somebody is forgotten while a request of theirs, with the key, still waits for the disk."""
    key = StoredKey(b"1" * 16, b"name", b"wrapped")
    with open_journal(*address) as journal:
        journal.append([make_row(Observed("e1", "r", "a"), 1)], [key])
        assert journal.key() == journal.key(key.id) == key
        journal.append([make_row(Forgotten("f", [key.id]), 2)])
        journal.append([make_row(Observed("e2", "r", "a"), 3)], [key])
        assert journal.key(key.id) == (key.id, b"", b"")
        assert journal.key() is None
        assert journal.keys_of([b"name"]) == []


def test_a_destroyed_key_leaves_no_trace_in_the_file(tmp_path):
    path = tmp_path / "j"
    key = StoredKey(b"i" * 16, b"n" * 32, os.urandom(60))
    with open_journal(str(path), "loop") as journal:
        journal.append([make_row(Observed("e1", "r", "a"), 1)], [key])
        assert journal.scrub()
        assert key.wrapped in path.read_bytes()
        journal.append([make_row(Forgotten("f", [key.id]), 2)])
        journal.scrub()
        files = [one for one in tmp_path.iterdir() if one.is_file()]
        assert all(key.wrapped not in file.read_bytes() for file in files)


@pytest.mark.slow
@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_forgetting_waits_for_nobody_and_says_so_until_the_key_is_gone(start):
    loop, http = start()
    http.post("rank", json=RANK | {"id": "r1"})
    with loop.reader() as journal:
        wrapped, path = journal.key().wrapped, Path(journal.where)

    def files():
        return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())

    other = sqlite3.connect(path)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM entries").fetchone()  # a process that reads for long
    assert forget(http, user=RANK["user"], id="f")["status"] == "pending"
    assert http.post("rank", json=RANK | {"id": "r2", "user": "bob"}).status_code == 200
    assert wrapped in files()
    assert shown(http, "r1")["status"] == "forgotten"
    other.close()
    until(lambda: wrapped not in files())  # without any further request
    assert forget(http, user=RANK["user"], id="f")["status"] == "duplicate"


@pytest.mark.slow
def test_without_a_master_key_nothing_is_stored(start, monkeypatch):
    monkeypatch.delenv(MASTER)
    loop, http = start()
    assert http.post("rank", json=RANK | {"id": "r1", "session": "s1"}).status_code == 200
    with loop.reader() as journal:
        entry = journal.find("ranking:r1").entry
    assert entry.encrypted is entry.session is None
    assert shown(http, "r1")["status"] == "none"
    assert http.get(str(http.base_url).rstrip("/")).json()["personal"] == "not stored"
    refused = http.post("forget", json={"user": "ada"})
    assert refused.status_code == 422
    assert "no master key" in refused.json()["detail"]


@pytest.mark.slow
@pytest.mark.parametrize("with_key", [True, False])
def test_an_experiment_counts_a_session_once_under_a_name_of_its_own(start, with_key, monkeypatch):
    if not with_key:
        monkeypatch.delenv(MASTER)
    loop, http = start(rankers=["solar-i", "slam:measure=AP"])
    http.post("rank", json={"items": ITEMS, "id": "r0", "session": "s1"})
    http.post("experiments", json={"challengers": ["slam:measure=AP"], "id": "x"})
    loop.settle()
    for n, session in enumerate(["s1", "s1", "s2"], start=1):
        http.post("rank", json={"items": ITEMS, "id": f"r{n}", "session": session})
    with loop.reader() as journal:
        names = [journal.find(f"ranking:r{n}").entry.session for n in range(4)]
    assert names[0] is None
    assert names[1] == names[2] != names[3]
    assert "s1" not in names


@pytest.mark.slow
def test_what_cannot_be_forgotten(start):
    _, http = start()
    for wrong in ({}, {"user": "a", "session": "b"}):
        assert "give one of them" in http.post("forget", json=wrong).json()["detail"]
    assert "no ranking" in http.post("forget", json={"ranking_id": "x"}).json()["detail"]
    assert forget(http, user="never seen")["keys"] == 0


@pytest.mark.slow
def test_another_master_key_is_refused_and_an_old_one_still_reads(start, monkeypatch):
    _, http = start()
    http.post("rank", json=RANK | {"id": "r1"})
    old, new = os.environ[MASTER], new_key()
    monkeypatch.setenv(MASTER, new)
    with pytest.raises(JournalError, match="with another master key"):
        start()
    monkeypatch.setenv(MASTER, f"{new}\n{old}")
    _, http = start()
    assert shown(http, "r1")["personal"]["query"] == SECRET
    assert forget(http, user="ada@example.org")["keys"] == 1


def test_encrypted_bytes_belong_to_their_ranking_and_cannot_be_changed():
    key = Vault([bytes(32)])._make_key("user ada")
    encrypted = key.encrypt("r1", Personal(query=SECRET))
    assert key.decrypt("r1", encrypted) == Personal(query=SECRET)
    for ranking, body in (("r2", encrypted), ("r1", encrypted[:-1] + bytes([encrypted[-1] ^ 1]))):
        with pytest.raises(JournalError, match="damaged or was changed"):
            key.decrypt(ranking, body)


def test_a_journal_of_the_first_version_is_brought_forward(address):
    """It has no table of keys yet; its entries stay as they are."""
    where, name = address
    with open_journal(where, name) as journal:
        journal.append([make_row(Observed("e1", "r", "a"), 1)])
    if where.startswith("postgres"):
        with psycopg.connect(where, autocommit=True) as database:
            database.execute(
                f"DROP TABLE rankloop_{name}.keys, rankloop_{name}.folds, rankloop_{name}.lease"
            )
            database.execute(f"UPDATE rankloop_{name}.about SET version = 1")
    else:
        with closing(sqlite3.connect(where)) as database:
            database.executescript("DROP TABLE keys; DROP TABLE folds; PRAGMA user_version = 1")
    key = StoredKey(b"1" * 16, b"name", b"wrapped")
    with open_journal(where, name) as journal:
        assert journal.head() == 1
        journal.append([make_row(Observed("e2", "r", "a"), 1)], [key])
    with open_journal(where, name) as journal:
        assert journal.key() == key


def test_keys_are_read_or_the_error_names_the_place(tmp_path):
    key, file = new_key(), tmp_path / "keys"
    file.write_text(f"{key}\n{key}\n")
    assert len(read_keys(MASTER, str(file), {})) == 2
    assert len(read_keys(MASTER, str(file), {MASTER: key})[0]) == 32
    assert read_keys(MASTER, "", {}) == ()
    with pytest.raises(ValueError, match=r"RANKLOOP_MASTER_KEY, key 1: this is not a key") as error:
        read_keys(MASTER, "", {MASTER: key[:-3]})
    assert key[:-3] not in str(error.value)
    with pytest.raises(ValueError, match="cannot be read"):
        read_keys(MASTER, str(tmp_path / "none"), {})
    file.write_text("")
    with pytest.raises(ValueError, match="found no key"):
        read_keys(MASTER, str(file), {})


def test_operators_forget_from_the_command_line_and_programs_by_the_client(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv(MASTER, new_key())
    path = str(tmp_path / "j")
    loop = {"features": 2, "rankers": ["solar-i"], "journal": path}
    service = Service.start(as_settings({"loops": {"shop": loop}}))
    with background(service) as url, Client(url, "shop") as client:
        for user in ("ada", "bob", "eve"):
            client.rank({"a": [1, 2], "b": [2, 1]}, id=user, user=user, query=SECRET)
        assert client.forget(user="ada") == 1
        assert client.forget(ranking_id="ada") == 0
    service.stop()

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["rankloop", "journal", *words])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return capsys.readouterr().out

    assert "1 key destroyed" in run("forget", path, "--user", "bob", "--by", "grace")
    shown = [json.loads(line) for line in run("personal", path).splitlines()]
    assert shown == [
        {"ranking_id": "ada", "personal": "forgotten"},
        {"ranking_id": "bob", "personal": "forgotten"},
        {"ranking_id": "eve", "personal": {"query": SECRET, "user": "eve"}},
    ]
    actions = json.loads(run("actions", path, "--json"))
    assert [(act["by"], act["action"]) for act in actions] == [
        ("rankloop", "configured"),
        ("anyone", "forgot"),
        ("anyone", "forgot"),
        ("grace", "forgot"),
    ]


@pytest.mark.slow
def test_a_click_log_shows_queries_until_people_are_forgotten(start):
    loop, http = start()
    for name in "pq":
        http.post("rank", json={**RANK, "id": name})
    loop.append(Closed("p"), Closed("q"))
    with loop.reader() as journal:
        vault = Vault(read_keys(MASTER))
        log = export_clicks(journal, vault)
        assert (log.query_ids.tolist(), log.notes) == ([SECRET], ())
        forget(http, user=RANK["user"])
        log = export_clicks(journal, vault)
        assert (log.query_ids.tolist(), len(log.notes)) == (["p", "q"], 1)
