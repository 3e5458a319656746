"""Models that travel: a ranker in the form of another engine, with a proof of equal scores.

>>> import rankloop as rl
>>> ranker = rl.Slam().learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
>>> print(rl.export.export(ranker, "json"))  # doctest: +ELLIPSIS
{
  "format": "rankloop scoring program",
...
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
