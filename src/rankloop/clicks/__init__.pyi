"""Click models: what users do with a ranking."""

from .impressions import cascade_clicks as cascade_clicks
from .impressions import click_probabilities as click_probabilities
from .rankers.dbgd import DBGD as DBGD
from .rankers.from_clicks import FromClicks as FromClicks
from .rankers.mgd import MGD as MGD
from .rankers.neural_pdgd import NeuralPDGD as NeuralPDGD
from .rankers.pdgd import PDGD as PDGD
from .rankers.thompson import Thompson as Thompson

__all__: list[str]
