"""Figures: each function turns a result into a matplotlib figure, without global state."""

from .bias import plot_bias as plot_bias
from .bounds import plot_bounds as plot_bounds
from .compare import plot_standings as plot_standings
from .explanations import plot_contributions as plot_contributions
from .explanations import plot_dependence as plot_dependence
from .explanations import plot_explained as plot_explained
from .explanations import plot_importance as plot_importance
from .figures import save_figure as save_figure
from .streams import plot_click_streams as plot_click_streams
from .streams import plot_streams as plot_streams
from .streams import plot_week as plot_week
from .summary import plot_summary as plot_summary

__all__: list[str]
