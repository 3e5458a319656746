"""Settings of loops from a configuration of Metarank: a loop for each of its models."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.exceptions import DataError, MissingExtraError, ParseError
from rankloop.features.definitions import Definitions
from rankloop.features.from_metarank import translate_extractors
from rankloop.feedback.first_definitions import FirstDefinitions

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODELS = ("lambdamart",)
_OTHERS = ("state", "source", "api", "core", "train", "env")


def translate_metarank(path: str | os.PathLike[str]) -> dict[str, FirstDefinitions]:
    """Return the definitions of each model of a configuration, by its name.

    Parameters
    ----------
    path : YAML or JSON
    """
    name = os.fspath(path)
    document = _read(name)
    extractors = document.get("features")
    if not isinstance(extractors, list):
        raise DataError(f"{name}: there is no list of features; is it a configuration of Metarank?")
    models = document.get("models")
    if not isinstance(models, dict) or not models:  # as in old versions
        return {"default": _define(name, extractors, _weights(document.get("interactions")), [])}
    loops, notes = {}, []
    for model, about in models.items():
        kind = about.get("type") if isinstance(about, dict) else None
        if kind not in _MODELS:
            notes.append(f"left out: model {model}, of the type {kind}")
            continue
        wanted = about.get("features")
        chosen = [
            extractor
            for extractor in extractors
            if not isinstance(wanted, list)
            or not isinstance(extractor, dict)
            or extractor.get("name") in wanted
        ]
        more = [
            f"left out: {option} of model {model}"
            for option in ("selector", "split", "eval", "warmup", "backend")
            if option in about
        ]
        loops[str(model)] = _define(name, chosen, dict(about.get("weights") or {}), more)
    if not loops:
        raise DataError(f"{name}: there is no model of the type {_MODELS[0]}")
    others = [f"left out: {section}" for section in _OTHERS if section in document]
    first = next(iter(loops.values()))
    first.notes.extend([*notes, *others])
    return loops


def _define(
    name: str, extractors: list[Mapping[str, Any]], weights: dict[str, Any], more: list[str]
) -> FirstDefinitions:
    try:
        made = translate_extractors(extractors)
        if made.features:
            Definitions.read(made.fields, made.features)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    if not made.features:
        raise DataError(f"{name}: none of the features has a counterpart: {made.left_out}")
    notes = [f"Translated from {Path(name).name}."]
    notes += [f"left out: feature {what}, {why}" for what, why in made.left_out.items()]
    feedback: dict[str, object] = {kind: float(weight) for kind, weight in weights.items()}
    return FirstDefinitions(made.fields, made.features, feedback, made.remarks, [*notes, *more])


def _weights(interactions: object) -> dict[str, Any]:
    """Return the weights of old configurations, which list them."""
    listed = interactions if isinstance(interactions, list) else []
    return {str(one["name"]): one.get("weight", 1.0) for one in listed if "name" in one}


def _read(name: str) -> dict[str, Any]:
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError(name, None, f"cannot read it: {error}") from None
    try:
        document = json.loads(text)
    except ValueError:
        document = _read_yaml(name, text)
    if not isinstance(document, dict):
        raise ParseError(name, None, "expected an object with features and models")
    return document


def _read_yaml(name: str, text: str) -> Any:
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("pyyaml", "yaml", "a configuration in YAML") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ParseError(name, None, f"it is not YAML: {error}") from None
