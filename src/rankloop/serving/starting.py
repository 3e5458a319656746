"""How a service starts: the packages it needs, and settings from a file or from options."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rankloop.exceptions import DataError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.serving.config import Settings
    from rankloop.serving.journal.base import Journal

_LOOP = "loop"
_NEEDED = ("cryptography", "msgspec", "starlette", "uvicorn", "prometheus_client", "zstandard")


def needs_extra() -> None:
    """Raise if a package of the extra `serve` is missing."""
    for package in _NEEDED:
        if find_spec(package) is None:
            raise MissingExtraError(package.replace("_", "-"), "serve", "the live loop")


class Options(NamedTuple):
    """The options of the command line for a service; None or empty if not given."""

    loop: str | None = None
    features: str | None = None
    rankers: Sequence[str] = ()
    journal: str | None = None
    port: int | None = None

    @property
    def of_the_loop(self) -> dict[str, object]:
        """The options of the loop, by the names of settings."""
        given = {
            "features": None if self.features is None else _features(self.features),
            "rankers": list(self.rankers) or None,
            "journal": self.journal,
        }
        return {name: value for name, value in given.items() if value is not None}


def chosen_settings(config: Path | None, options: Options) -> Settings:
    """Return the settings of a file, or of one loop from options, which take precedence."""
    from rankloop.serving.config import as_settings, read_settings

    if config is not None:
        return read_settings(config, os.environ, lambda plain: _set(options, plain))
    described = _described(options)
    server = {} if options.port is None else {"port": options.port}
    return as_settings({"server": server, "loops": {options.loop or _LOOP: described}})


def write_settings(config: Path | None, options: Options) -> str:
    """Write settings to a file for editing; return what to do next."""
    from rankloop.serving.template import write_template

    path = config or Path("rankloop-serve.toml")
    port = 8080 if options.port is None else options.port
    write_template(path, options.loop or _LOOP, _described(options), port)
    return f"{path}: start with `rankloop serve {path}`"


def _described(options: Options) -> dict[str, object]:
    """Return the settings of the one loop that options describe."""
    if not options.features:
        raise DataError(
            "give a settings file, or the features: rankloop serve --ranker auto --features 46"
        )
    usual = {"rankers": ["auto"], "journal": f"{options.loop or _LOOP}.journal"}
    return {**usual, **options.of_the_loop}


def _set(options: Options, plain: dict[str, Any]) -> None:
    """Put what options say in place of what a file says."""
    server, loops = plain.setdefault("server", {}), plain.get("loops", {})
    if not (isinstance(server, dict) and isinstance(loops, dict)):
        return  # whoever checks the settings says so
    if options.port is not None:
        server["port"] = options.port
    said = options.of_the_loop
    if options.loop is not None and options.loop not in loops:
        raise DataError(f"there is no loop {options.loop!r}; --loop can be {', '.join(loops)}")
    if options.loop is not None and not said:
        raise DataError(
            "--loop only selects the loop that --features, --ranker and --journal change; give "
            "one of them too, or leave out --loop: all loops of the file are served"
        )
    if said and options.loop is None and len(loops) != 1:
        raise DataError(
            f"there are {len(loops)} loops; select with --loop the one to which the other options "
            "apply"
        )
    if said:
        loops[options.loop or next(iter(loops))].update(said)


def _features(text: str) -> int | list[str]:
    return int(text) if text.isdecimal() else [name.strip() for name in text.split(",")]


def existing_journal(address: str, name: str) -> Journal:
    """Open an existing journal; a command that only reads must not create a file."""
    needs_extra()
    from rankloop.serving.journal.opening import open_journal

    if "://" not in address and not Path(address).exists():
        raise DataError(f"{address}: there is no such journal")
    return open_journal(address, name)
