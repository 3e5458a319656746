"""A folder of finished results, one JSON file each, so that an interrupted run can continue."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import DataError
from rankloop.experiments.fold_result import FoldResult

if TYPE_CHECKING:
    import os


class ResultStore:
    """A folder of finished results; a file is complete or does not exist.

    A result is found by a digest of everything that it depends on, which the file contains, too.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"cannot resume from {self.folder}: {error.strerror}; give a folder"
            ) from None

    def get(self, ranker: str, fold: str, key: object) -> FoldResult | None:
        """Return the result if it exists; a damaged file counts as none."""
        try:
            told = json.loads(self._path(ranker, fold, key).read_bytes())
            return FoldResult.from_dict(told["result"]) if told["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, result: FoldResult, key: object) -> None:
        """Write a result; an error leaves no incomplete file."""
        text = json.dumps({"key": key, "result": asdict(result)}, allow_nan=False)
        with replace_when_done(self._path(result.ranker, result.fold, key)) as partial:
            partial.write_text(text + "\n")

    def _path(self, ranker: str, fold: str, key: object) -> Path:
        digest = sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        name = re.sub(r"[^A-Za-z0-9.=-]+", "_", f"{fold}-{ranker}")[:80]
        return self.folder / f"{name}-{digest}.json"
