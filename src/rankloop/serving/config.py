"""Settings of a service: a TOML file and the environment in, values that never change out."""

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
from rankloop.learners.registry import make_online_learner
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

    from rankloop.learners.online.base import OnlineRanker

Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]

_PREFIX = "RANKLOOP__"
_NAME = "[a-z][a-z0-9_]{0,40}"
_S = TypeVar("_S")


class RuleSettings(Section, frozen=True):
    """What one type of feedback is worth; see :class:`rankloop.feedback.grading.Rule`."""

    gain: float
    at_least: float | None = None
    by_value: bool = False

    def rule(self) -> Rule:
        """Return it as lessons take it."""
        lowest = -math.inf if self.at_least is None else self.at_least
        return Rule(self.gain, lowest, self.by_value)


def _default_feedback() -> dict[str, RuleSettings | float]:
    return {name: rule.gain for name, rule in DEFAULT_RULES.items()}


class LoopSettings(Section, frozen=True, dict=True):
    """One ranking task.

    Learning, all of it journaled:

    features : their names, or how many there are (then they are called 1, 2, ...)
    defaults : values of features that a request leaves out, by name
    learners : texts such as `auto` or `solar-ii:gamma=10`; the first is the champion at the start
    feedback : what each type is worth, a gain or a table (gain, at_least, by_value)
    lesson : what a closed ranking teaches: `grades`, `pairs`, `ips` (grades, weighted by how
        seldom a place is looked at), or `pdgd` (pairs, weighted by how likely a `plackett-luce`
        ranking was to show them the other way round; other rankings teach nothing)
    examination : for `ips`, how likely each place is to be seen; the last is for all beyond
    most_open, most_early, most_events, most_closed : bounds of what waits: open rankings, feedback
        before its ranking, events of one ranking, ids of closed rankings
    late : whether feedback that comes after the window teaches its ranking again, with all that is
        known of it by then
    check_every : a digest of the state is journaled every so many entries

    Serving:

    journal : a file, or postgresql://user@host/database
    table : a CSV or Parquet file of items: a column `id`, and one a feature, for UBI queries
    window : seconds for which a ranking waits for feedback
    policy : `best-first`, `plackett-luce` (explores) or `apprentice` (shows the caller's order)
    temperature : of `plackett-luce`, above 0: lower explores less
    explore_top : how many places `plackett-luce` draws; the rest is best first
    snapshot_every : the state is saved every so many entries
    alpha : the chance that any experiment of this loop ever promotes a worse model
    """

    features: tuple[str, ...] | Count
    defaults: dict[str, float] = msgspec.field(default_factory=dict)
    learners: tuple[str, ...] = ("auto",)
    feedback: dict[str, RuleSettings | float] = msgspec.field(default_factory=_default_feedback)
    lesson: Literal["grades", "pairs", "ips", "pdgd"] = "grades"
    examination: tuple[float, ...] = ()
    most_open: Count = 1_000_000
    most_early: Annotated[int, Meta(ge=0)] = 10_000
    most_events: Count = 1_000
    most_closed: Count = 100_000
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
        """Return them as the journal keeps them: all but where files are."""
        return msgspec.json.encode(msgspec.structs.replace(self, journal="", table=""))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        if isinstance(self.features, int):
            return _numbers(self.features)
        return self.features

    @cached_property
    def rules(self) -> dict[str, Rule]:
        """What each type of feedback is worth, as lessons take it."""
        return rules_of(self.feedback)

    def change(self, known: LoopSettings | None, where: str) -> bool:
        """Tell whether they change what a journal knows; raise where they name other features."""
        if known is None:
            return True
        if known.names != self.names:
            raise DataError(
                f"{where}: its journal is about {len(known.names)} features "
                f"({', '.join(known.names[:5])}, ...), but the settings name {len(self.names)} "
                f"({', '.join(self.names[:5])}, ...); the features of a loop cannot change: "
                "start another loop"
            )
        return known.journaled() != self.journaled()

    def make_learners(self) -> dict[str, OnlineRanker]:
        """Return learners that have learnt nothing, by their texts."""
        return {text: make_online_learner(text) for text in self.learners}

    def check(self) -> None:
        """Raise where a value cannot be used."""
        names = self.names
        if not names or len(set(names)) < len(names):
            raise DataError(f"features: found {list(names)[:10]}, expected names, each once")
        unknown = self.defaults.keys() - set(names)
        if unknown:
            raise DataError(f"defaults: {min(unknown)!r} is no feature; name one of the features")
        for name, value in self.defaults.items():
            if not math.isfinite(value):
                raise DataError(f"defaults.{name}: found {value}, expected a finite number")
        if not self.learners or len(set(self.learners)) < len(self.learners):
            raise DataError(f"learners: found {list(self.learners)}, expected texts, each once")
        for text in self.learners:
            try:
                make_online_learner(text)
            except RankloopError as error:
                raise DataError(f"learners: {error}") from None
        if self.lesson == "ips" and not self.examination:
            raise DataError(
                "examination: found none, expected chances above 0 and at most 1, a place each, "
                "as lesson = 'ips' needs them"
            )
        if not all(0 < chance <= 1 for chance in self.examination):
            raise DataError(
                f"examination: found {list(self.examination)}, expected chances above 0 and at "
                "most 1"
            )
        drawn = self.policy == "plackett-luce" and self.temperature == 1
        if self.lesson == "pdgd" and not drawn:
            raise DataError(
                f"lesson: found 'pdgd' with policy = {self.policy!r} and temperature = "
                f"{self.temperature:g}, expected policy = 'plackett-luce' and temperature = 1, as "
                "it learns only from rankings that were drawn by their scores"
            )
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise DataError(f"temperature: found {self.temperature}, expected a number above 0")
        if not 0 < self.alpha < 1:
            raise DataError(f"alpha: found {self.alpha}, expected a number between 0 and 1")


def rules_of(feedback: Mapping[str, RuleSettings | float]) -> dict[str, Rule]:
    """Return what each type of feedback is worth, as lessons take it."""
    return {
        name: rule.rule() if isinstance(rule, RuleSettings) else Rule(float(rule))
        for name, rule in feedback.items()
    }


class ServerSettings(Section, frozen=True):
    """Where the service listens, and what it takes.

    host, port : 127.0.0.1 by default; other addresses need tokens
    workers : processes, each of which ranks; one of them closes windows
    most_items, most_bytes : of one request
    most_waiting : entries that wait for the disk; beyond them, callers are asked to come again
    most_connections : of one process; beyond them, new ones are closed at once
    proxies : addresses whose X-Forwarded-For is believed, such as your load balancer's
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    workers: Count = 1
    most_items: Count = 1_000
    most_bytes: Count = 8_000_000
    most_waiting: Count = 10_000
    most_connections: Count = 5_000
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
        """Read the keys that protect personal fields; none where none is named."""
        return read_keys(MASTER, self.privacy.master_key_file)

    def signing_keys(self) -> tuple[bytes, ...]:
        """Read the keys that sign tickets for browsers; none where pages may send nothing."""
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
        """Raise where values cannot be used, or not together; the message begins with the key."""
        if not self.loops:
            raise DataError("loops: found none, expected at least one, as [loops.products]")
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
            raise DataError(f"tokens: found the names {names}, expected each once")
        if self.server.host not in LOCAL and not self.tokens:
            raise DataError(
                f"server.host: found {self.server.host}, which others can reach, but there are no "
                "tokens; add [[tokens]], or listen at 127.0.0.1"
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
                        "browser may make up; let a server of yours send it"
                    )


def read_settings(
    path: str | os.PathLike[str],
    environment: Mapping[str, str],
    change: Callable[[dict[str, Any]], None] | None = None,
) -> Settings:
    """Read settings from a TOML file; the environment may set single values, and `change` more.

    `RANKLOOP__SERVER__PORT=9000` sets `port` in `[server]`. Journals that are not named stand
    beside the file.

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
                f"loops: found {name!r}, expected a name of lower case letters, digits and _, at "
                "most 41"
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
                raise DataError(f"{variable}: {table} is no table of the settings")
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
