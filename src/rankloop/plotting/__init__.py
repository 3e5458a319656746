"""Figures: each function turns a result into a matplotlib figure, without global state.

No figure is displayed. Matplotlib is imported when a figure is made, not with this package. Save a
figure with :func:`rankloop.plotting.figures.save_figure`.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
