"""Finished cells in a folder, one JSON file each, so that a run that stopped can go on."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.data.io.replacing import replaced_when_done
from rankloop.exceptions import DataError
from rankloop.experiments.cell import Cell

if TYPE_CHECKING:
    import os


class CellStore:
    """A folder of finished cells; a file is whole or not there.

    A cell is found by a digest of everything that its result depends on, which the file holds too.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"cannot use {self.folder} to resume from: {error.strerror}; name a folder"
            ) from None

    def get(self, learner: str, fold: str, key: object) -> Cell | None:
        """Return the cell if it is there; a damaged file counts as none."""
        try:
            told = json.loads(self._path(learner, fold, key).read_bytes())
            return Cell.from_dict(told["cell"]) if told["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, cell: Cell, key: object) -> None:
        """Write a cell, whole or not at all."""
        text = json.dumps({"key": key, "cell": asdict(cell)}, allow_nan=False)
        with replaced_when_done(self._path(cell.learner, cell.fold, key)) as partial:
            partial.write_text(text + "\n")

    def _path(self, learner: str, fold: str, key: object) -> Path:
        digest = sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        name = re.sub(r"[^A-Za-z0-9.=-]+", "_", f"{fold}-{learner}")[:80]
        return self.folder / f"{name}-{digest}.json"
