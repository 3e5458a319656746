"""`match`: how well a text of an item fits the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.kinds.base import PythonKind, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankloop.features.options import Options, Ref


@dataclass(frozen=True)
class Match(PythonKind):
    """How well a text fits the query, as in `{ match = ["request.query", "item.title"] }`.

    With Q, the different words of the query:

    - `bm25`: the sum over Q of idf tf (k + 1) / (tf + k (1 - b + b length / mean length)), where
      idf = log(1 + (N - df + 1/2) / (df + 1/2)) is of the texts in the catalogue, k = 1.2 and
      b = 0.75
    - `terms`: the share of Q that the text has
    - `ngrams`: the share of the query's groups of three characters that the text has

    Words are compared in lower case and without accents, by a table that never changes. It is
    missing if there is no query or no text.

    match : a text of the request and one of the item
    by : `bm25`, `terms` or `ngrams`

    Cost: O(|Q| length) an item.

    S. Robertson and H. Zaragoza, The probabilistic relevance framework: BM25 and beyond,
    Foundations and Trends in Information Retrieval 3(4), 2009.
    """

    query: Ref
    text: Ref
    by: str

    keyword: ClassVar[str] = "match"

    @classmethod
    def read(cls, name: str, options: Options) -> Match:
        """Read the two texts and `by`."""
        found = options.take("match")
        if not isinstance(found, list | tuple) or len(found) != 2:
            raise options.error(
                f'match needs two texts, as in ["request.query", "item.title"]; found {found!r}'
            )
        query = options.field(found[0], ("text",), ("request",))
        text = options.field(found[1], ("text",), ("item",))
        return cls(name, query, text, options.choice("by", ("bm25", "terms", "ngrams")))

    @property
    def texts(self) -> tuple[Ref, ...]:
        """The text of the item."""
        return (self.text,)

    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Compare the texts."""
        out[:, 0] = view.match(self.query, self.text, self.by)
