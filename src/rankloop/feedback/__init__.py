"""Rankings and the feedback on them, as values that can be stored and learnt from."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
