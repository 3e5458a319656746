"""A model that LightGBM, XGBoost or CatBoost trained, as a ranker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.boosting.foreign import as_lightgbm, read_forest
from rankloop.rankers.boosting.model import TreeModel

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.boosting.foreign import Forest
    from rankloop.rankers.traits import Traits


class Imported(TreeModel):
    """Trees of LightGBM, XGBoost or CatBoost; they stay as they are, whatever `fit` is given.

    So an existing model joins comparisons and blends beside other rankers, is saved and exported
    like them, and ranks in the live service, where a :class:`rankloop.rankers.Stacked` can
    correct it as clicks come in.

    Parameters
    ----------
    model : the file: LightGBM's text, XGBoost's JSON or UBJ, or CatBoost's JSON (symmetric trees on
        numbers); None for a model without trees. If XGBoost stopped early, its best round counts.
    valid_measure, patience, warm_start : see :class:`BatchRanker`; there are no rounds

    Notes
    -----
    Scores are LightGBM's own, bit for bit; XGBoost adds up in float32 and we in double, so its
    scores differ by rounding. Features are float32, as in all of Rankloop: a model that was trained
    on float64 features may send a row to another leaf when the row is rounded.
    :func:`rankloop.export.rounding_moves` counts these rows.

    Examples
    --------
    >>> Imported().fit([[1.0], [2.0]], [0, 1], group=[2]).predict([[3.0]]).tolist()
    [0.0]
    """

    traits: ClassVar[Traits] = replace(TreeModel.traits, is_baseline=True, takes_raw_features=True)

    def __init__(
        self,
        model: str | None = None,
        valid_measure: str | Measure = "nDCG@10",
        patience: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.model = model
        self.valid_measure = valid_measure
        self.patience = patience
        self.warm_start = warm_start

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Return the model in a file, ready to rank."""
        ranker = cls(str(path))
        forest = ranker._forest()
        ranker._reset(forest.n_features)
        ranker.feature_names_in_ = forest.names
        ranker.rounds_ = len(forest.trees)
        return ranker

    def _forest(self) -> Forest:
        try:
            return read_forest(Path(str(self.model)).read_bytes())
        except OSError as error:
            raise ModelError(f"cannot read the model {self.model!r}: {error}") from None

    def _check(self, data: QueryDataset) -> None:
        if self.model is None or (self.warm_start and self.is_fitted):
            return
        forest = self._forest()
        if forest.n_features != data.n_features:
            raise DataError(
                f"the model {self.model!r} expects {forest.n_features} features, but the data has "
                f"{data.n_features}"
            )
        if forest.names and data.feature_names and forest.names != data.feature_names:
            raise DataError(
                f"the model {self.model!r} has the features {', '.join(forest.names[:10])} in this "
                f"order, and the data has {', '.join(data.feature_names[:10])}; read it with "
                "Imported.read, which finds columns by name"
            )

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        if self.model is not None:
            self.booster_ = as_lightgbm(self._forest())

    def _rounds(self, data: QueryDataset) -> Iterator[float]:  # noqa: ARG002
        return iter(())
