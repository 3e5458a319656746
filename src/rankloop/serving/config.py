"""Settings of a service: from a TOML file and the environment to immutable values."""

from __future__ import annotations

import ipaddress
import math
import os
import re
import tomllib
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from rankloop.exceptions import DataError, RankloopError
from rankloop.feedback.grading import DEFAULT_RULES, Rule
from rankloop.rankers.registry import make_online_ranker
from rankloop.serving.keyring import MASTER, SIGNING, read_keys
from rankloop.serving.safety import (
    LOCAL,
    BrowserSettings,
    LimitSettings,
    PrivacySettings,
    Section,
    TokenSettings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rankloop.rankers.online.base import OnlineRanker

Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]

_PREFIX = "RANKLOOP__"
_NAME = "[a-z][a-z0-9_]{0,40}"
_S = TypeVar("_S")


class RuleSettings(Section, frozen=True):
    """The grade of one type of feedback; see :class:`rankloop.feedback.grading.Rule`."""

    gain: float
    at_least: float | None = None
    by_value: bool = False

    def rule(self) -> Rule:
        """Return it as a rule for grading."""
        lowest = -math.inf if self.at_least is None else self.at_least
        return Rule(self.gain, lowest, self.by_value)


def _default_feedback() -> dict[str, RuleSettings | float]:
    return {name: rule.gain for name, rule in DEFAULT_RULES.items()}


class LoopSettings(Section, frozen=True, dict=True):
    """One ranking task.

    Learning, all of it journaled:

    features : their names, or how many there are (then they are called 1, 2, ...)
    defaults : values of features that a request leaves out, by name
    rankers : text such as `auto` or `solar-ii:gamma=10`; the first is the champion at the start
    feedback : the grade of each type, a gain or a table (gain, at_least, by_value)
    learn_from : how feedback becomes training data: `grades`, `pairs`, `ips` (grades, with more
        weight at places that are seldom looked at), or `pdgd` (pairs, weighted by how likely a
        `plackett-luce` ranking was to show them in the opposite order; other rankings teach
        nothing)
    examination : for `ips`, how likely each place is to be seen; the last value also holds for all
        later places
    max_open, max_early, max_events, max_closed : limits of what is kept: open rankings,
        feedback before its ranking, events of one ranking, ids of closed rankings
    late : whether feedback after the window lets the rankers learn the ranking again, with all
        feedback on it so far
    check_every : number of entries between two digests of the state in the journal

    Serving:

    journal : a file, or postgresql://user@host/database
    table : a CSV or Parquet file of items, for UBI queries: a column `id`, and one per feature
    window : seconds to wait for feedback before learning from a ranking
    policy : `best-first`, `plackett-luce` (explores) or `apprentice` (shows the caller's order)
    temperature : of `plackett-luce`, above 0; lower values explore less
    explore_top : number of places that `plackett-luce` draws; the others are best first
    snapshot_every : number of entries between two saved states
    alpha : the chance that any experiment of this loop ever promotes a worse model
    """

    features: tuple[str, ...] | Count
    defaults: dict[str, float] = msgspec.field(default_factory=dict)
    rankers: tuple[str, ...] = ("auto",)
    feedback: dict[str, RuleSettings | float] = msgspec.field(default_factory=_default_feedback)
    learn_from: Literal["grades", "pairs", "ips", "pdgd"] = "grades"
    examination: tuple[float, ...] = ()
    max_open: Count = 1_000_000
    max_early: Annotated[int, Meta(ge=0)] = 10_000
    max_events: Count = 1_000
    max_closed: Count = 100_000
    late: bool = False
    check_every: Count = 10_000

    journal: str = ""
    table: str = ""
    window: Seconds = 1800.0
    policy: Literal["best-first", "plackett-luce", "apprentice"] = "best-first"
    temperature: float = 1.0
    explore_top: Count = 10
    snapshot_every: Count = 50_000
    alpha: float = 0.05

    def journaled(self) -> bytes:
        """Return the settings that the journal keeps: all except locations of files."""
        return msgspec.json.encode(msgspec.structs.replace(self, journal="", table=""))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        if isinstance(self.features, int):
            return _numbers(self.features)
        return self.features

    @cached_property
    def rules(self) -> dict[str, Rule]:
        """The grade of each type of feedback, as rules for grading."""
        return rules_of(self.feedback)

    def change(self, known: LoopSettings | None, where: str) -> bool:
        """Return whether a journal has other settings; raise if it has other features."""
        if known is None:
            return True
        if known.names != self.names:
            raise DataError(
                f"{where}: its journal has {len(known.names)} features "
                f"({', '.join(known.names[:5])}, ...), but the settings have {len(self.names)} "
                f"({', '.join(self.names[:5])}, ...); the features of a loop cannot be changed: "
                "use another loop name"
            )
        return known.journaled() != self.journaled()

    def make_rankers(self) -> dict[str, OnlineRanker]:
        """Return rankers that have learnt nothing yet, by their texts."""
        return {text: make_online_ranker(text) for text in self.rankers}

    def check(self) -> None:
        """Raise if a value cannot be used."""
        names = self.names
        if not names or len(set(names)) < len(names):
            raise DataError(
                f"features: found {list(names)[:10]}, expected at least one name, all different"
            )
        unknown = self.defaults.keys() - set(names)
        if unknown:
            known = f"{', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
            raise DataError(
                f"defaults: {min(unknown)!r} is not a feature; expected one of: {known}"
            )
        for name, value in self.defaults.items():
            if not math.isfinite(value):
                raise DataError(f"defaults.{name}: found {value}, expected a finite number")
        if not self.rankers or len(set(self.rankers)) < len(self.rankers):
            raise DataError(
                f"rankers: found {list(self.rankers)}, expected at least one, all different"
            )
        for text in self.rankers:
            try:
                make_online_ranker(text)
            except RankloopError as error:
                raise DataError(f"rankers: {error}") from None
        if self.learn_from == "ips" and not self.examination:
            raise DataError(
                "examination: found none, but learn_from = 'ips' needs one probability for each "
                "position, above 0 and at most 1"
            )
        if not all(0 < chance <= 1 for chance in self.examination):
            raise DataError(
                f"examination: found {list(self.examination)}, expected one probability for "
                "each position, above 0 and at most 1"
            )
        drawn = self.policy == "plackett-luce" and self.temperature == 1
        if self.learn_from == "pdgd" and not drawn:
            raise DataError(
                f"learn_from: found 'pdgd' with policy = {self.policy!r} and temperature = "
                f"{self.temperature:g}, expected policy = 'plackett-luce' and temperature = 1, "
                "because it learns only from rankings that were drawn at random by their scores"
            )
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise DataError(f"temperature: found {self.temperature}, expected a number above 0")
        if not 0 < self.alpha < 1:
            raise DataError(f"alpha: found {self.alpha}, expected a number between 0 and 1")


def rules_of(feedback: Mapping[str, RuleSettings | float]) -> dict[str, Rule]:
    """Return the grade of each type of feedback, as rules for grading."""
    return {
        name: rule.rule() if isinstance(rule, RuleSettings) else Rule(float(rule))
        for name, rule in feedback.items()
    }


class ServerSettings(Section, frozen=True):
    """Where the service listens, and what it accepts.

    host, port : 127.0.0.1 by default; other addresses need tokens
    workers : number of processes that rank; one of them also closes windows
    max_items, max_bytes : of one request
    max_waiting : entries that may wait for the disk; if there are more, callers must try again
    max_connections : of one process; further ones are closed at once
    proxies : addresses whose X-Forwarded-For is trusted, such as that of your load balancer
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    workers: Count = 1
    max_items: Count = 1_000
    max_bytes: Count = 8_000_000
    max_waiting: Count = 10_000
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
            for one in self.browsers.types:
                if one not in rules:
                    raise DataError(
                        f"browsers.types: loop {name} has no rule for {one!r}; it has rules for "
                        f"{', '.join(rules)}"
                    )
                if rules[one].by_value:
                    raise DataError(
                        f"browsers.types: in loop {name}, {one!r} counts by its value, which a "
                        "browser could forge; send it from your own server"
                    )


def read_settings(
    path: str | os.PathLike[str],
    environment: Mapping[str, str],
    change: Callable[[dict[str, Any]], None] | None = None,
) -> Settings:
    """Read settings from a TOML file; the environment may set single values, and `change` more.

    `RANKLOOP__SERVER__PORT=9000` sets `port` in `[server]`. A loop without a journal
    setting has its journal in the folder of the file.

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
    _set_from(environment, plain)
    for name, loop in _tables(plain.get("loops")):
        loop.setdefault("journal", str(Path(path).parent / f"{name}.journal"))
    try:
        if change is not None:
            change(plain)
        return as_settings(plain)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def as_settings(plain: Mapping[str, object]) -> Settings:
    """Return plain values as settings, checked."""
    loops = {}
    for name, table in _tables(plain.get("loops")):
        if not re.fullmatch(_NAME, name):
            raise DataError(
                f"loops: found {name!r}, expected a name of at most 41 lower case letters, digits "
                "and _, beginning with a letter"
            )
        loops[name] = _converted(table, LoopSettings, f"loops.{name}")
    rest = _converted({**plain, "loops": {}}, Settings, "")
    settings = msgspec.structs.replace(rest, loops=loops)
    settings.check()
    return settings


def _converted(plain: Mapping[str, object], kind: type[_S], where: str) -> _S:
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        key, _, reason = _explained(str(error)).partition(": ")
        place = ".".join(part for part in (where, key) if part and part != "settings")
        raise DataError(f"{place or 'settings'}: {reason}") from None


def _explained(message: str) -> str:
    """Put the key first, as `loops.products.window: expected ...`."""
    reason, _, key = message.partition(" - at `$")
    return f"{key.strip('`.') or 'settings'}: {reason[0].lower()}{reason[1:]}"


def _tables(value: object) -> list[tuple[str, dict[str, object]]]:
    if not isinstance(value, dict):
        return []
    return [(name, table) for name, table in value.items() if isinstance(table, dict)]


def _set_from(environment: Mapping[str, str], plain: dict[str, Any]) -> None:
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
    """Read a value as TOML does; what is none is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


@cache
def _numbers(n: int) -> tuple[str, ...]:
    """Return the names of features that have none; every request asks for them."""
    return tuple(str(number) for number in range(1, n + 1))
