"""Personal data in a journal: show it, and forget it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from rankloop.exceptions import DataError
from rankloop.feedback.ids import new_id
from rankloop.serving.journal.base import Draft
from rankloop.serving.journal.entries import Forgotten, Ranked
from rankloop.serving.keyring import MASTER, read_keys
from rankloop.serving.privacy import Vault

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
        if isinstance(entry, Ranked) and entry.sealed is not None:
            found = vault.opened(entry.id, entry.sealed, journal)
            fields = "forgotten" if found is None else msgspec.to_builtins(found)
            yield {"ranking_id": entry.id, "personal": fields}


def forget(
    journal: Journal,
    vault: Vault,
    by: str,
    user: str | None = None,
    session: str | None = None,
    ranking_id: str | None = None,
) -> int:
    """Destroy the keys of a user, of a session without a user, or of the person who saw a ranking.

    A running service on this journal discards them too. Returns the number of keys.
    """
    if sum(one is not None for one in (user, session, ranking_id)) != 1:
        raise DataError("give one of a user, a session and a ranking")
    keys = vault.forgettable(journal, user, session, ranking_id)
    journal.append([Draft(Forgotten(new_id(), keys, by), int(1000 * time.time()))])
    journal.scrub()
    return len(keys)
