"""Experiments that measure how well rankers do."""

from rankloop.lazily import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
