"""Rankings given as files: scores in row order, or TREC runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.evaluation import Result
    from rankloop.rankers.base import Scores


@dataclass(frozen=True, eq=False)
class System:
    """A ranking of a data set, with notes on how the two fit together."""

    data: QueryDataset
    scores: Scores
    notes: tuple[str, ...] = ()

    def values_for(self, judged: QueryDataset, result: Result) -> NDArray[np.float64]:
        """Bring one value per query to the query order of the judged data; NaN if it has none."""
        place = {query: i for i, query in enumerate(judged.query_ids.tolist())}
        values = np.full(len(judged), np.nan)
        values[[place[query] for query in self.data.query_ids.tolist()]] = result.values
        return values


def read_system(judged: QueryDataset, path: Path, kind: str) -> System:
    """Read one ranking of the judged data: `scores` in row order, a TREC `run`, or a `model`."""
    if kind == "model":
        from rankloop.rankers.model_files.saving import load

        return System(judged, load(path).predict(judged))
    if kind == "scores":
        from rankloop.data.io.scores import read_scores

        return System(judged, judged.from_row_order(read_scores(path, judged.n_documents)))
    from rankloop.data.io.trec import read_run
    from rankloop.data.io.trec_join import join, qrels_from_dataset

    joined = join(qrels_from_dataset(judged), read_run(path))
    counts = {
        "queries are judged but not in the run, and score 0": joined.n_missing_queries,
        "queries of the run are not judged, and were left out": joined.n_unjudged_queries,
    }
    notes = tuple(f"{count:,} {what}" for what, count in counts.items() if count)
    return System(joined.dataset, joined.scores, notes)
