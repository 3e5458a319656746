"""How a service begins: the packages it needs, and settings from a file or from options."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.serving.config import Settings
    from rankloop.serving.journal.base import Journal

_NEEDED = ("cryptography", "msgspec", "starlette", "uvicorn", "prometheus_client", "zstandard")


def needs_extra() -> None:
    """Raise where a package of the extra `serve` is missing."""
    for package in _NEEDED:
        if find_spec(package) is None:
            raise MissingExtraError(package.replace("_", "-"), "serve", "the live loop")


def chosen_settings(
    config: Path | None,
    loop: str,
    features: str | None,
    learners: Sequence[str],
    journal: str | None,
    port: int,
) -> Settings:
    """Return the settings of a file, or of one loop that options describe."""
    from rankloop.serving.config import as_settings, read_settings

    if config is not None:
        return read_settings(config, os.environ)
    described = {
        "features": _features(features),
        "learners": list(learners),
        "journal": journal or f"{loop}.journal",
    }
    return as_settings({"server": {"port": port}, "loops": {loop: described}})


def write_settings(
    config: Path | None, loop: str, features: str | None, learners: Sequence[str]
) -> str:
    """Write settings to a file, to be edited; return what to do next."""
    from rankloop.serving.template import write_template

    path = config or Path("rankloop-serve.toml")
    write_template(path, loop, _features(features), list(learners))
    return f"{path}: start with `rankloop serve {path}`"


def _features(text: str | None) -> int | list[str]:
    if not text:
        raise DataError(
            "give a file of settings, or say which features there are: rankloop serve --learner "
            "auto --features 46"
        )
    return int(text) if text.isdecimal() else [name.strip() for name in text.split(",")]


def existing_journal(address: str, name: str) -> Journal:
    """Open a journal that is there; one that only looks on must not make a new file."""
    needs_extra()
    from rankloop.serving.journal.opening import open_journal

    if "://" not in address and not Path(address).exists():
        raise DataError(f"{address}: there is no such journal")
    return open_journal(address, name)
