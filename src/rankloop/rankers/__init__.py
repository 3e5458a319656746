"""Rankers that learn, online or from whole data sets."""

from rankloop.lazily import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
