"""Data grouped by query: readers, writers, scaling, splits and simulators."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
