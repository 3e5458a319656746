"""Experiments: how well learners do, measured honestly."""

from rankloop.lazily import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
