"""Click models: what users do with a ranking."""

from rankloop.clicks.cascade import cascade_clicks as cascade_clicks
from rankloop.clicks.cascade import click_probabilities as click_probabilities
from rankloop.clicks.learners.dbgd import DBGD as DBGD
from rankloop.clicks.learners.from_clicks import FromClicks as FromClicks
from rankloop.clicks.learners.mapped import MappedClicks as MappedClicks
from rankloop.clicks.learners.mgd import MGD as MGD
from rankloop.clicks.learners.neural_pdgd import NeuralPDGD as NeuralPDGD
from rankloop.clicks.learners.pdgd import PDGD as PDGD
from rankloop.clicks.learners.thompson import Thompson as Thompson

__all__: list[str]
