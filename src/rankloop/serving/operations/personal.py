"""Personal data in a journal: show it, and forget it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from rankloop.exceptions import DataError
from rankloop.feedback.ids import new_id
from rankloop.serving.journal.action_entries import Forgotten
from rankloop.serving.journal.base import JournalError, make_row
from rankloop.serving.journal.ranking_entries import Ranked
from rankloop.serving.security.hashes import load_hashes
from rankloop.serving.security.vault import Vault
from rankloop.serving.settings.keyring import MASTER, read_keys

_PATIENCE = 2.0  # seconds to wait for others that read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.serving.journal.base import Journal


def vault_for(journal: Journal, master_key_file: str = "") -> Vault:
    """Return the vault for a journal's personal fields; raise without its master key."""
    vault = vault_if_any(journal, master_key_file)
    if vault is None:
        raise DataError(f"there is no master key; set {MASTER}, or give a file of keys")
    return vault


def vault_if_any(journal: Journal, master_key_file: str = "") -> Vault | None:
    """Return the vault for a journal's personal fields; None without a master key."""
    masters = read_keys(MASTER, master_key_file)
    if not masters:
        return None
    vault = Vault(masters)
    vault.check(journal)
    return vault


def personal(journal: Journal, vault: Vault) -> Iterator[dict[str, object]]:
    """Yield the personal fields of every ranking; `forgotten` if they can no longer be read."""
    for record in journal.scan(journal.base()):
        entry = record.entry
        if isinstance(entry, Ranked) and entry.encrypted is not None:
            fields = vault.decrypt(entry.id, entry.encrypted, journal)
            shown = "forgotten" if fields is None else msgspec.to_builtins(fields)
            yield {"ranking_id": entry.id, "personal": shown}


def forget(
    journal: Journal,
    vault: Vault,
    by: str,
    user: str | None = None,
    session: str | None = None,
    ranking_id: str | None = None,
) -> tuple[int, bool]:
    """Destroy the keys of a user, of a session without a user, or of the person who saw a ranking.

    A running service on this journal discards them too. Returns the number of keys,
    and whether they are erased from all files, which must wait while others read.
    """
    if sum(value is not None for value in (user, session, ranking_id)) != 1:
        raise DataError("give one of a user, a session and a ranking")
    keys = vault.forgettable(journal, user, session, ranking_id)
    counters = _counters_of(journal, vault, user, session, ranking_id)
    entry = Forgotten(new_id(), keys, by, counters)
    journal.append([make_row(entry, int(1000 * time.time()))])
    erased = journal.scrub()
    end = time.monotonic() + _PATIENCE
    while not erased and time.monotonic() < end:
        time.sleep(0.1)
        erased = journal.scrub()
    return len(keys), erased


def _counters_of(
    journal: Journal, vault: Vault, user: str | None, session: str | None, ranking_id: str | None
) -> tuple[bytes, ...]:
    """Return the hashes by which counters of features know a person."""
    if ranking_id is not None:
        record = journal.find(f"ranking:{ranking_id}")
        entry = None if record is None else record.entry
        if not isinstance(entry, Ranked) or entry.computed is None:
            return ()
        asker = entry.computed.asker
        return tuple(key for key in (asker.user, asker.session) if key is not None)
    try:
        hashes = load_hashes(journal, vault, make=False)
    except JournalError:  # the loop computes no features
        return ()
    found = (hashes.user(user), hashes.session(session))
    return tuple(key for key in found if key is not None)
