"""Rankings given as files: scores in row order, or TREC runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset


@dataclass(frozen=True, eq=False)
class System:
    """A ranking of a data set, and what is worth saying about how they fit."""

    data: QueryDataset
    scores: NDArray[Any]
    notes: tuple[str, ...] = ()


def read_system(judged: QueryDataset, path: Path, *, is_run: bool) -> System:
    """Read one ranking of the judged data; scores come in the data's row order."""
    if not is_run:
        from rankloop.data.scores import read_scores

        return System(judged, judged.from_row_order(read_scores(path, judged.n_documents)))
    from rankloop.data.trec import join, qrels_from_dataset, read_run

    joined = join(qrels_from_dataset(judged), read_run(path))
    counts = {
        "queries are judged but not in the run, and score 0": joined.n_missing_queries,
        "queries of the run are not judged, and were left out": joined.n_unjudged_queries,
    }
    notes = tuple(f"{count:,} {what}" for what, count in counts.items() if count)
    return System(joined.dataset, joined.scores, notes)
