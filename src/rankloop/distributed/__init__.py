"""Training and evaluation on a Dask cluster, over parts of whole queries.

>>> import rankloop as rl
>>> sorted(rl.distributed.__all__)
['Parts', 'connect', 'evaluate', 'fit', 'predict']
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
