"""Names of the array types in signatures."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
