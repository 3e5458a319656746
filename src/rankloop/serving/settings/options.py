"""The options of `rankloop serve`, and the settings that follow from them and from a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.serving.settings.service import Settings

_LOOP = "loop"


class ServeOptions(NamedTuple):
    """The options of the command line for a service; None or empty if not given."""

    loop: str | None = None
    features: str | None = None
    rankers: Sequence[str] = ()
    journal: str | None = None
    port: int | None = None
    model: Path | None = None

    @property
    def loop_values(self) -> dict[str, object]:
        """The options of the loop, by the names of settings."""
        given = {
            "features": None if self.features is None else _features(self.features),
            "rankers": list(self.rankers) or None,
            "model": None if self.model is None else str(self.model),
            "journal": self.journal,
        }
        return {name: value for name, value in given.items() if value is not None}


def choose_settings(config: Path | None, options: ServeOptions) -> Settings:
    """Return the settings of a file, or of one loop from options, which take precedence."""
    from rankloop.serving.settings.service import as_settings, read_settings

    if config is not None:
        return read_settings(config, os.environ, lambda plain: _override(options, plain))
    loop = _describe_loop(options)
    server = {} if options.port is None else {"port": options.port}
    return as_settings({"server": server, "loops": {options.loop or _LOOP: loop}})


def write_settings(config: Path | None, options: ServeOptions) -> str:
    """Write settings to a file for editing; return what to do next."""
    from rankloop.serving.settings.template import write_template

    path = config or Path("rankloop-serve.toml")
    port = 8080 if options.port is None else options.port
    write_template(path, options.loop or _LOOP, _describe_loop(options), port)
    return f"{path}: start with `rankloop serve {path}`"


def _describe_loop(options: ServeOptions) -> dict[str, object]:
    """Return the settings of the one loop that options describe."""
    if not options.features and options.model is None:
        raise DataError(
            "give a settings file, the features, or a model: rankloop serve --ranker auto "
            "--features 46, or rankloop serve --model model.rlm"
        )
    usual: dict[str, object] = {
        "rankers": ["auto"],
        "journal": f"{options.loop or _LOOP}.journal",
    }
    if options.model is not None:
        usual["features"] = _features_of(options.model)
    return {**usual, **options.loop_values}


def _override(options: ServeOptions, plain: dict[str, Any]) -> None:
    """Replace values of a file by those of the options."""
    server, loops = plain.setdefault("server", {}), plain.get("loops", {})
    if not (isinstance(server, dict) and isinstance(loops, dict)):
        return  # the check of the settings reports it
    if options.port is not None:
        server["port"] = options.port
    given_values = options.loop_values
    if options.loop is not None and options.loop not in loops:
        raise DataError(f"there is no loop {options.loop!r}; --loop can be {', '.join(loops)}")
    if options.loop is not None and not given_values:
        raise DataError(
            "--loop only selects the loop that --features, --ranker and --journal change; give "
            "one of them too, or leave out --loop: all loops of the file are served"
        )
    if given_values and options.loop is None and len(loops) != 1:
        raise DataError(
            f"there are {len(loops)} loops; select with --loop the one to which the other options "
            "apply"
        )
    if given_values:
        loops[options.loop or next(iter(loops))].update(given_values)


def _features_of(path: Path) -> int | list[str] | dict[str, dict[str, object]]:
    """Return what callers send to a model: names of numbers, or how many if it knows no names.

    If the model has a description of its features, callers send what was in its training data, such
    as texts and dates, which definitions describe.
    """
    from rankloop.features.columns import Features
    from rankloop.features.kinds.given import given_like
    from rankloop.rankers.model_files.saving import load

    model = load(path)
    described = getattr(model, "features", None)
    if isinstance(described, Features):
        return given_like(described)
    return list(model.feature_names_in_) or model.n_features_in_


def _features(text: str) -> int | list[str]:
    return int(text) if text.isdecimal() else [name.strip() for name in text.split(",")]
