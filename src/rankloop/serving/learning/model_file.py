"""The model file that a loop's settings name: it ranks from the start."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError, RankloopError
from rankloop.rankers.model_files.saving import loads
from rankloop.serving.journal.action_entries import ModelAdded, Promoted
from rankloop.serving.journal.entries import digest_of
from rankloop.serving.learning.fitting import check_model
from rankloop.serving.learning.trial import try_model

if TYPE_CHECKING:
    from rankloop.serving.loop import Loop
    from rankloop.serving.settings.loop import LoopSettings
    from rankloop.serving.settings.service import Settings

_BY = "settings"


def read_model(settings: LoopSettings) -> bytes:
    """Return the bytes of a loop's model file; raise if the loop cannot use it."""
    path = settings.model
    try:
        body = Path(path).read_bytes()
        check_model(loads(body), settings)
    except OSError as error:
        raise DataError(f"model: {path}: cannot be read: {error.strerror}") from None
    except RankloopError as error:
        raise DataError(f"model: {path}: {error}") from None
    return body


def check_models(settings: Settings) -> None:
    """Read the model files of all loops; raise if a loop cannot use its own."""
    for name, loop in settings.loops.items():
        if loop.model:
            try:
                read_model(loop)
            except DataError as error:
                raise DataError(f"loops.{name}.{error}") from None


def promote_model(loop: Loop, settings: LoopSettings) -> None:
    """Add the model file of a loop's settings and make it the champion, once for each content.

    So a restart changes nothing that operators or experiments have decided since.
    """
    body = read_model(settings)
    stem = re.sub("[^A-Za-z0-9_-]+", "-", Path(settings.model).stem).strip("-") or "model"
    name = f"{stem[:80]}-{digest_of(body).hex()[:8]}"
    added = ModelAdded(name, body, _BY)
    if loop.read(lambda journal: journal.find(added.key)) is not None:
        return
    try_model(body)
    *_, promoted = loop.append(added, Promoted(f"settings-{name}", name, "model file", by=_BY))
    if promoted.position is not None:
        loop.wait_for_entry(promoted.position, 60.0)
