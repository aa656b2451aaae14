"""Names of the types in signatures."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TableLike: TypeAlias = Any  # columns by name: a dict, a data frame, a structured array
