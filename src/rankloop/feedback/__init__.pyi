"""Rankings and what people said of them, as values: journals store them, rankers learn them."""

from rankloop.feedback.events import Feedback as Feedback
from rankloop.feedback.events import Judgement as Judgement
from rankloop.feedback.ranking import Ranking as Ranking

__all__: list[str]
