"""Margins, the loss bounds of the papers, and the adversary of the lower bound."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
