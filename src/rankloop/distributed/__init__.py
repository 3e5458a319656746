"""Training and evaluation on a Dask cluster, over parts of whole queries.

>>> import rankloop as rl
>>> sorted(rl.distributed.__all__)
['Parts', 'connect', 'evaluate', 'fit']
"""

from rankloop.lazily import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
