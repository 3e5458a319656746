"""Rankings and what people said of them, as values: journals store them, rankers learn them."""

from .events import Feedback as Feedback
from .events import Judgement as Judgement
from .ranking import Ranking as Ranking

__all__: list[str]
