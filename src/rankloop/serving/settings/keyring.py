"""Secret keys from an environment variable, or from a file with one key per line."""

from __future__ import annotations

import base64
import binascii
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

MASTER = "RANKLOOP_MASTER_KEY"
SIGNING = "RANKLOOP_SIGNING_KEY"

_BYTES = 32


def new_key() -> str:
    """Return a new key as text.

    >>> len(new_key())
    43
    """
    return base64.urlsafe_b64encode(secrets.token_bytes(_BYTES)).decode().rstrip("=")


def read_keys(
    variable: str, file: str = "", environment: Mapping[str, str] = os.environ
) -> tuple[bytes, ...]:
    """Return the keys of a variable, otherwise those of a file, newest first; none without both.

    Raises
    ------
    DataError
        if a key cannot be read; the message names the place and never shows the key.
    """
    text, where = environment.get(variable, ""), variable
    if not text and file:
        where = file
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise DataError(f"{file}: the keys cannot be read: {reason}") from None
        if not text.strip():
            raise DataError(f"{file}: found no key; `rankloop serve --new-key` makes one")
    return tuple(_decode(word, f"{where}, key {n}") for n, word in enumerate(text.split(), 1))


def _decode(word: str, where: str) -> bytes:
    try:
        key = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _BYTES:
        raise DataError(
            f"{where}: this is not a key: expected {_BYTES} bytes in Base64; `rankloop serve "
            "--new-key` makes one"
        )
    return key
