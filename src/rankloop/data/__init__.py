"""Data grouped by query: readers, writers, scaling, splits and simulators."""

from rankloop.lazily import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
