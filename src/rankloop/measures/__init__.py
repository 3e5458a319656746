"""Measures, how ranks and ties are decided, conventions, and comparisons of rankings."""

from rankloop.lazily import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
