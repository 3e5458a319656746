"""Keyed hashes of users, sessions and query texts, by which counters know them.

Entries hold only these hashes. Their key is one per journal, and is made with the journal's first
live features. It is encrypted with the master key if there is one; otherwise it is stored as it is,
and then whoever has the journal can test whether a known user occurs in it.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.serving.journal.base import JournalError, StoredKey
from rankloop.serving.security.vault import PLAIN

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.security.vault import Vault

_ID = b"rankloop-hashes!"  # 16 bytes, as ids of other keys; fixed, so that a journal has one
_BYTES = 16


class Hashes:
    """Hashes names with one secret key.

    >>> hashes = Hashes(bytes(32))
    >>> hashes.user("anna") == hashes.user("anna"), hashes.user("anna") == hashes.session("anna")
    (True, False)
    >>> hashes.query(" Red  Shoes ") == hashes.query("red shoes")
    True
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def user(self, name: str | None) -> bytes | None:
        """Return the hash of a user; None if there is none."""
        return None if name is None else self._hash("user", name)

    def session(self, name: str | None) -> bytes | None:
        """Return the hash of a session; None if there is none."""
        return None if name is None else self._hash("session", name)

    def query(self, text: str | None) -> bytes | None:
        """Return the hash of a query; upper case and additional spaces make no difference."""
        words = [] if text is None else text.lower().split()
        return self._hash("query", " ".join(words)) if words else None

    def _hash(self, kind: str, text: str) -> bytes:
        keyed = blake2b(f"{kind}\0{text}".encode(), key=self._secret, digest_size=_BYTES)
        return keyed.digest()


def load_hashes(journal: Journal, vault: Vault | None, make: bool = True) -> Hashes:
    """Return the hashes of a journal; if it has no key for them yet, make one.

    Parameters
    ----------
    vault : encrypts the key; without it, the key is stored as it is
    make : False to raise an error instead of making a key
    """
    row = journal.key(_ID)
    if row is None and make:
        secret = os.urandom(PLAIN)
        new = StoredKey(_ID, b"", secret) if vault is None else vault.wrap(_ID, b"", secret)
        # If another process was faster, its key is the one that is stored.
        journal.append([], [new])
        row = journal.key(_ID)
    if row is None:
        raise JournalError(f"{journal.where}: it has no key for hashes; start the loop once first")
    if len(row.wrapped) == PLAIN:
        return Hashes(row.wrapped)
    if vault is None:
        raise DataError(
            f"{journal.where}: the key for hashes of users is encrypted with a master key, and "
            "there is none; set privacy.master_key_file, or RANKLOOP_MASTER_KEY"
        )
    return Hashes(vault.unwrap(row, journal.where))
