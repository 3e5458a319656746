"""Personal fields: encrypted with a key per person, unreadable once that key is destroyed.

What rankers learn never depends on them, so if a person is forgotten, no state and no digest
changes. A journal's entries contain encrypted bytes; the keys are in a separate table, encrypted
with a master key that is kept elsewhere.
"""

from __future__ import annotations

import hmac
import os
import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Meta

from rankloop.exceptions import DataError
from rankloop.serving.journal.base import JournalError, StoredKey
from rankloop.serving.journal.ranking_entries import Ranked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankloop.serving.journal.base import Journal

_MAX_KEYS = 50_000  # in memory; others are read from the journal again
_NONCE = 12
KEY_ID = 16
"""Bytes of the id of a key, with which encrypted fields begin."""

PLAIN = 32
"""Bytes of a key that is stored as it is; encrypted ones are longer."""

Text = Annotated[str, Meta(max_length=1000)]
About = Annotated[dict[Text, Text | float | bool | None], Meta(max_length=100)]


class Personal(msgspec.Struct, frozen=True, omit_defaults=True):
    """The personal fields of a request; all are optional."""

    query: str | None = None
    user: str | None = None
    session: str | None = None
    about: dict[str, Any] | None = None

    def __bool__(self) -> bool:
        return self != _NOTHING

    def subject(self, ranking_id: str) -> str:
        """Return the person: the user, otherwise the session, otherwise the ranking itself."""
        if self.user is not None:
            return f"user {self.user}"
        return f"ranking {ranking_id}" if self.session is None else f"session {self.session}"


_NOTHING = Personal()


class Key:
    """The key of one person; `stored`: whether it is known to be in the journal."""

    def __init__(self, row: StoredKey, secret: bytes, stored: bool) -> None:
        self.row, self.stored = row, stored
        self._secret, self._cipher = secret, AESGCM(secret)

    def encrypt(self, ranking_id: str, personal: Personal) -> bytes:
        """Return encrypted bytes that only this key can decrypt, and only for this ranking."""
        nonce, plain = os.urandom(_NONCE), msgspec.msgpack.encode(personal)
        return self.row.id + nonce + self._cipher.encrypt(nonce, plain, ranking_id.encode())

    def decrypt(self, ranking_id: str, encrypted: bytes) -> Personal:
        """Return the decrypted fields; raise if the bytes were changed."""
        nonce, rest = encrypted[KEY_ID : KEY_ID + _NONCE], encrypted[KEY_ID + _NONCE :]
        try:
            plain = self._cipher.decrypt(nonce, rest, ranking_id.encode())
        except InvalidTag:
            raise JournalError(
                f"the personal part of ranking {ranking_id!r} is damaged or was changed; restore "
                "the journal from a backup"
            ) from None
        return msgspec.msgpack.decode(plain, type=Personal)

    def pseudonym(self, *parts: str) -> str:
        """Return a name that cannot be linked to a person once this key is destroyed."""
        text = "\0".join(("rankloop pseudonym", *parts))
        return hmac.digest(self._secret, text.encode(), "sha256")[:12].hex()


class Vault:
    """Finds, makes and forgets the keys of people.

    Parameters
    ----------
    masters : master keys of 32 bytes; the first encrypts new keys, all decrypt
    """

    def __init__(self, masters: Sequence[bytes]) -> None:
        self._names = [_derive(master, b"names") for master in masters]
        self._wraps = [AESGCM(_derive(master, b"wraps")) for master in masters]
        self._keys: OrderedDict[str, Key] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, journal: Journal) -> None:
        """Raise if the journal's keys were made with another master key."""
        row = journal.key()
        if row is not None and len(row.wrapped) != PLAIN:
            self.unwrap(row, journal.where)

    def at_hand(self, subject: str) -> Key | None:
        """Return a person's key, if it was used recently."""
        with self._lock:
            key = self._keys.get(subject)
            if key is not None:
                self._keys.move_to_end(subject)
            return key

    def key_of(self, subject: str, journal: Journal) -> Key:
        """Return a person's key, or a new one. Not for the event loop."""
        rows = self.rows_of(subject, journal)
        key = Key(rows[-1], self.unwrap(rows[-1], journal.where), True) if rows else None
        with self._lock:
            key = self._keys.get(subject) or key or self._make_key(subject)
            self._keys[subject] = key
            if len(self._keys) > _MAX_KEYS:
                self._keys.popitem(last=False)
            return key

    def rows_of(self, subject: str, journal: Journal) -> list[StoredKey]:
        """Return all keys of a person as the journal keeps them."""
        return journal.keys_of([_name(names, subject) for names in self._names])

    def decrypt(self, ranking_id: str, encrypted: bytes, journal: Journal) -> Personal | None:
        """Return the decrypted fields, or None if they are forgotten."""
        row = journal.key(encrypted[:KEY_ID])
        if row is None:
            raise JournalError(
                f"{journal.where}: the key of ranking {ranking_id!r} is missing; restore the "
                "journal from a backup"
            )
        if not row.wrapped:
            return None
        return Key(row, self.unwrap(row, journal.where), True).decrypt(ranking_id, encrypted)

    def forgettable(
        self, journal: Journal, user: str | None, session: str | None, ranking_id: str | None
    ) -> list[bytes]:
        """Return all keys of a user, a session without a user, or the person who saw a ranking."""
        if ranking_id is None:
            rows = self.rows_of(Personal(user=user, session=session).subject(""), journal)
            return [row.id for row in rows]
        record = journal.find(f"ranking:{ranking_id}")
        if record is None or not isinstance(record.entry, Ranked):
            raise DataError(f"there is no ranking {ranking_id!r:.80} in this journal")
        row = (
            None if record.entry.encrypted is None else journal.key(record.entry.encrypted[:KEY_ID])
        )
        if row is None or not row.wrapped:
            return []
        return [key.id for key in journal.keys_of([row.name])]

    def forget(self, ids: Iterable[bytes]) -> None:
        """Discard keys that were destroyed."""
        gone = set(ids)
        with self._lock:
            for subject in [s for s, key in self._keys.items() if key.row.id in gone]:
                del self._keys[subject]

    def _make_key(self, subject: str) -> Key:
        secret = AESGCM.generate_key(256)
        row = self.wrap(os.urandom(KEY_ID), _name(self._names[0], subject), secret)
        return Key(row, secret, False)

    def wrap(self, key_id: bytes, name: bytes, secret: bytes) -> StoredKey:
        """Return a key as stores keep it, encrypted with the master key."""
        nonce = os.urandom(_NONCE)
        return StoredKey(key_id, name, nonce + self._wraps[0].encrypt(nonce, secret, key_id + name))

    def unwrap(self, row: StoredKey, where: str) -> bytes:
        """Return a key, decrypted; raise if it was made with another master key."""
        nonce, rest = row.wrapped[:_NONCE], row.wrapped[_NONCE:]
        for wraps in self._wraps:
            try:
                return wraps.decrypt(nonce, rest, row.id + row.name)
            except InvalidTag:
                continue
        raise JournalError(
            f"{where}: its keys were made with another master key, or are damaged; add the old "
            "master key to the key file, on a line below the new one"
        )


def hash_session(experiment: str, session: str) -> str:
    """Return a session's pseudonym within one experiment, without a master key."""
    return blake2b(f"{experiment}\0{session}".encode(), digest_size=12).hexdigest()


def _derive(master: bytes, purpose: bytes) -> bytes:
    return hmac.digest(master, b"rankloop " + purpose, "sha256")


def _name(names: bytes, subject: str) -> bytes:
    """Return the name of a person's keys, which tells nothing without the master key."""
    return hmac.digest(names, subject.encode(), "sha256")
