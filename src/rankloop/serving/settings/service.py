"""Settings of a service: from a TOML file and the environment to immutable values."""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from rankloop.exceptions import DataError
from rankloop.serving.settings.keyring import MASTER, SIGNING, read_keys
from rankloop.serving.settings.loop import LoopSettings
from rankloop.serving.settings.sections import (
    LOCAL,
    BrowserSettings,
    Count,
    LimitSettings,
    PrivacySettings,
    Section,
    TokenSettings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PREFIX = "RANKLOOP__"
_NAME = "[a-z][a-z0-9_]{0,40}"
_S = TypeVar("_S")


class ServerSettings(Section, frozen=True):
    """Where the service listens, and what it accepts.

    host, port : 127.0.0.1 by default; other addresses need tokens
    workers : number of processes that rank; one of them also closes windows
    max_items, max_bytes : of one request
    max_waiting : entries that may wait for the disk; if there are more, callers must try again
    max_waiting_bytes : of bodies that a process has received and not yet answered
    max_delay : seconds by which a process may be late; then callers must try again
    max_connections : of one process; further ones are closed at once
    proxies : addresses whose X-Forwarded-For is trusted, such as that of your load balancer
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    workers: Count = 1
    max_items: Count = 1_000
    max_bytes: Count = 8_000_000
    max_waiting: Count = 10_000
    max_waiting_bytes: Count = 64_000_000
    max_delay: Annotated[float, Meta(gt=0)] = 0.1
    max_connections: Count = 5_000
    proxies: tuple[str, ...] = ()


class Settings(Section, frozen=True):
    """All settings of a service: the server, who may use it and how, and its loops by name."""

    loops: dict[str, LoopSettings]
    server: ServerSettings = ServerSettings()
    tokens: tuple[TokenSettings, ...] = ()
    limits: LimitSettings = LimitSettings()
    browsers: BrowserSettings = BrowserSettings()
    privacy: PrivacySettings = PrivacySettings()

    def master_keys(self) -> tuple[bytes, ...]:
        """Read the keys that protect personal fields; none if the settings name none."""
        return read_keys(MASTER, self.privacy.master_key_file)

    def signing_keys(self) -> tuple[bytes, ...]:
        """Read the keys that sign tickets for browsers; none if pages may not send feedback."""
        if not self.browsers.origins:
            return ()
        keys = read_keys(SIGNING, self.browsers.signing_key_file)
        if not keys:
            raise DataError(
                "browsers.origins: pages may send feedback, but there is no key to sign tickets "
                f"with; set browsers.signing_key_file, or {SIGNING}"
            )
        return keys

    def check(self) -> None:
        """Raise if values cannot be used, or not together; the message begins with the key."""
        if not self.loops:
            raise DataError("loops: found none, expected at least one, such as [loops.products]")
        for name, loop in self.loops.items():
            try:
                loop.check()
            except DataError as error:
                raise DataError(f"loops.{name}.{error}") from None
        if self.server.max_waiting_bytes < self.server.max_bytes:
            raise DataError(
                f"server.max_waiting_bytes: found {self.server.max_waiting_bytes:,}, expected at "
                f"least max_bytes, which is {self.server.max_bytes:,}"
            )
        for proxy in self.server.proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                raise DataError(
                    f"server.proxies: found {proxy!r}, expected an address or a network such as "
                    "10.0.0.0/8"
                ) from None
        self._check_browsers()
        names = [token.name for token in self.tokens]
        if len(set(names)) < len(names):
            raise DataError(f"tokens: found the names {names}, expected different names")
        if self.server.host not in LOCAL and not self.tokens:
            raise DataError(
                f"server.host: found {self.server.host}, which other machines can reach, but "
                "there are no tokens; add [[tokens]], or use 127.0.0.1"
            )

    def _check_browsers(self) -> None:
        try:
            self.browsers.check()
        except DataError as error:
            raise DataError(f"browsers.{error}") from None
        if not self.browsers.origins:
            return
        for name, loop in self.loops.items():
            rules = loop.rules
            for kind in self.browsers.types:
                if kind not in rules:
                    raise DataError(
                        f"browsers.types: loop {name} has no rule for {kind!r}; it has rules for "
                        f"{', '.join(rules)}"
                    )
                if rules[kind].by_value:
                    raise DataError(
                        f"browsers.types: in loop {name}, {kind!r} counts by its value, which a "
                        "browser could forge; send it from your own server"
                    )


def read_settings(
    path: str | os.PathLike[str],
    environment: Mapping[str, str],
    change: Callable[[dict[str, Any]], None] | None = None,
) -> Settings:
    """Read settings from a TOML file; the environment may set single values, and `change` more.

    `RANKLOOP__SERVER__PORT=9000` sets `port` in `[server]`. Relative paths of journals, models,
    tables and key files begin at the folder of the file, wherever the command runs; a loop without
    a journal setting has `NAME.journal` there.

    Raises
    ------
    DataError
        naming the file, the key, what was found and what was expected.
    """
    where = os.fspath(path)
    try:
        plain = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{where}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{where}: this is not TOML: {error}") from None
    _apply_environment(environment, plain)
    for name, loop in _tables(plain.get("loops")):
        loop.setdefault("journal", f"{name}.journal")
        _resolve(loop, ("journal", "model", "table"), Path(path).parent)
    for section, key in (("privacy", "master_key_file"), ("browsers", "signing_key_file")):
        values = plain.get(section)
        if isinstance(values, dict):
            _resolve(values, (key,), Path(path).parent)
    try:
        if change is not None:
            change(plain)
        return as_settings(plain)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def _resolve(values: dict[str, Any], keys: tuple[str, ...], folder: Path) -> None:
    """Let paths begin at a folder, unless they are absolute, or addresses of databases."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, str) and value and "://" not in value:
            values[key] = str(folder / value)


def as_settings(plain: Mapping[str, object]) -> Settings:
    """Return plain values as settings, checked."""
    loops = {}
    for name, table in _tables(plain.get("loops")):
        if not re.fullmatch(_NAME, name):
            raise DataError(
                f"loops: found {name!r}, expected a name of at most 41 lower case letters, digits "
                "and _, beginning with a letter"
            )
        loops[name] = _convert(table, LoopSettings, f"loops.{name}")
    rest = _convert({**plain, "loops": {}}, Settings, "")
    settings = msgspec.structs.replace(rest, loops=loops)
    settings.check()
    return settings


def _convert(plain: Mapping[str, object], kind: type[_S], where: str) -> _S:
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        key, _, reason = _explain(str(error)).partition(": ")
        place = ".".join(part for part in (where, key) if part and part != "settings")
        raise DataError(f"{place or 'settings'}: {reason}") from None


def _explain(message: str) -> str:
    """Put the key first, as `loops.products.window: expected ...`."""
    reason, _, key = message.partition(" - at `$")
    return f"{key.strip('`.') or 'settings'}: {reason[0].lower()}{reason[1:]}"


def _tables(value: object) -> list[tuple[str, dict[str, object]]]:
    if not isinstance(value, dict):
        return []
    return [(name, table) for name, table in value.items() if isinstance(table, dict)]


def _apply_environment(environment: Mapping[str, str], plain: dict[str, Any]) -> None:
    for variable, text in sorted(environment.items()):
        if not variable.startswith(_PREFIX):
            continue
        *tables, name = variable.removeprefix(_PREFIX).lower().split("__")
        inner = plain
        for table in tables:
            inner = inner.setdefault(table, {})
            if not isinstance(inner, dict):
                raise DataError(
                    f"{variable}: {table} is a single value in the settings, not a table; write "
                    "table and name, as in RANKLOOP__SERVER__PORT"
                )
        inner[name] = _value(text)


def _value(text: str) -> object:
    """Return a value as TOML reads it; text that is not TOML is returned unchanged."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
