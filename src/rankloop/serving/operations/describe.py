"""A state for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from rankloop.serving.engine import Engine


def described(engine: Engine) -> dict[str, Any]:
    """Return a state as plain values for people."""
    models = {
        name: {
            "version": model.version,
            "recent": model.curve.recent,
            "mean": model.curve.mean,
            "rankings": model.curve.n,
            "digest": model.ranker.digest(),
        }
        for name, model in engine.models.items()
    }
    return {
        "position": engine.position,
        "digest": engine.digest(),
        "champion": engine.champion,
        "models": models,
        "counters": msgspec.to_builtins(engine.counters),
    }
