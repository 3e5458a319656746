"""Data for the benchmarks, from fixed seeds."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.io.letor import write_letor
from rankloop.data.simulate import mslr_like

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.data.dataset import QueryDataset

_LIST = 120
_BYTES_A_ROW = 1215  # of 136 features, about


def web_search(n_queries: int, seed: int = 0) -> QueryDataset:
    """Give queries of 120 documents with 136 features, raw as in MSLR-WEB."""
    return mslr_like(n_queries, np.random.default_rng(seed), list_length=_LIST).data


@contextmanager
def letor_text(megabytes: float, seed: int = 0) -> Iterator[Path]:
    """Make a file of about this size that looks like MSLR-WEB, in a folder that goes afterwards.

    Whole numbers stand as such and others with at most 6 decimals, as Microsoft wrote them.
    """
    n_queries = max(round(megabytes * 1e6 / (_BYTES_A_ROW * _LIST)), 1)
    data = web_search(n_queries, seed)
    rounded = np.round(data.X.astype(np.float64), 6).astype(np.float32)
    with TemporaryDirectory(prefix="rankloop-bench-") as folder:
        path = Path(folder, "mslr_like.txt")
        write_letor(replace(data, X=rounded), path)
        del data, rounded
        yield path


def without_query_ids(path: Path) -> Path:
    """Copy LETOR text without `qid:` beside it, with the side file that LightGBM reads instead."""
    plain = path.with_suffix(".plain.txt")
    sizes: list[int] = []
    last = b""
    with path.open("rb") as lines, plain.open("wb") as out:
        for line in lines:
            grade, query, features = line.split(b" ", 2)
            out.write(grade + b" " + features)
            if query != last:
                sizes.append(0)
            sizes[-1] += 1
            last = query
    Path(f"{plain}.query").write_text("\n".join(map(str, sizes)) + "\n")
    return plain
