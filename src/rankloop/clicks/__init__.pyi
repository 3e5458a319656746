"""Click models: what users do with a ranking."""

from rankloop.clicks.cascade import cascade_clicks as cascade_clicks
from rankloop.clicks.cascade import click_probabilities as click_probabilities
from rankloop.clicks.rankers.dbgd import DBGD as DBGD
from rankloop.clicks.rankers.from_clicks import FromClicks as FromClicks
from rankloop.clicks.rankers.mapped import MappedClicks as MappedClicks
from rankloop.clicks.rankers.mgd import MGD as MGD
from rankloop.clicks.rankers.neural_pdgd import NeuralPDGD as NeuralPDGD
from rankloop.clicks.rankers.pdgd import PDGD as PDGD
from rankloop.clicks.rankers.thompson import Thompson as Thompson

__all__: list[str]
