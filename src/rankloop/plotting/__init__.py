"""Figures: a result object in, a matplotlib figure out; nothing is shown and no state is global.

Matplotlib is imported when a figure is made, not with this package. Save a figure with
:func:`rankloop.plotting.save.save_figure`.
"""
