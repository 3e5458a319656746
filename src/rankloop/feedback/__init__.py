"""Rankings and the feedback on them, as values that can be stored and learnt from."""

from rankloop.lazily import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
