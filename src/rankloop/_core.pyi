import numpy as np
from numpy.typing import NDArray

def first_not_finite(x: NDArray[np.float32], allow_nan: bool = False) -> int: ...
