"""Files into a journal: judged data to start warm, or logs of other systems."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.serving.operations import configured, import_judged, import_logs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def import_files(
    address: str, loop: str, paths: Sequence[Path], config: Path | None = None
) -> Iterator[str]:
    """Import files, and give a line about each."""
    from rankloop.data.io.formats import read
    from rankloop.serving.config import read_settings
    from rankloop.serving.journal.opening import open_journal

    with open_journal(address, loop) as journal:
        if config is not None:
            settings = read_settings(config, os.environ)
            if loop not in settings.loops and len(settings.loops) > 1:
                raise DataError(f"{config}: there is no loop {loop!r}; name one with --loop")
            configured(journal, settings.loops.get(loop) or next(iter(settings.loops.values())))
        for path in paths:
            if path.suffix in (".jsonl", ".ndjson"):
                with path.open("rb") as lines:
                    counts = import_logs(journal, lines)
                found = ", ".join(f"{n:,} {what}" for what, n in counts.items())
                yield f"{path}: {found or 'nothing'}"
            else:
                n = import_judged(journal, read(path), path.name)
                yield f"{path}: {n:,} judged queries"
