"""Margins, the loss bounds of the papers, and the adversary of the lower bound."""

from .adaptive import TrackedExperts as TrackedExperts
from .adaptive import track_experts as track_experts
from .adversary import Adversary as Adversary
from .adversary import play as play
from .budget import BudgetBound as BudgetBound
from .budget import track_budget as track_budget
from .margin import BestMargin as BestMargin
from .margin import best_margin as best_margin
from .perceptron import minimax_bound as minimax_bound
from .perceptron import slam_bound as slam_bound
from .result import Assumption as Assumption
from .result import Bound as Bound
from .solar import solar_i_bound as solar_i_bound
from .solar import solar_ii_bound as solar_ii_bound
from .theorem_rates import track_slam as track_slam
from .tracking import Tracked as Tracked
from .tracking import track as track
from .xendcg import xendcg_bound as xendcg_bound

__all__: list[str]
