"""Learning to rank that never stops learning.

>>> import rankloop as rl
>>> data = rl.QueryDataset.from_arrays([[0.1], [0.9], [0.4]], [0, 2, 1], group=[3])
>>> rl.evaluate(data, data.X[:, 0], rl.nDCG @ 10)["nDCG@10"]
1.0

Importing the package is light: what is below is loaded when it is first used.
"""

from lazy_loader import attach_stub

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
