"""Features: what the columns of a matrix mean, and how they become numbers for rankers."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
