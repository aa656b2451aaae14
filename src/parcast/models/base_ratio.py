"""How wrong times of another machine are that were scaled by one ratio: half-widths of log time.

    T_target(P) = kappa * T_base(P) ,   kappa = T_target(P0) / T_base(P0)       [S in words] [1]_

The ratio of two machines does not stay what it was: the one with the faster processors waits more
for its network. How far it moves was measured [D]: on seven public sets of runs every machine in
turn was the target, told one run, and every other machine the base. The half-width of the 90 %
interval of log time that served well grows with the distance from the known count and with how
unlike the machines are,

    half-width = sqrt( (0.5 + 0.4 * min(|ln kappa|, 1.5))^2 * ln(P / P0) + (1.645 * 0.05)^2 )

Other machines that were run at the same counts tell it better. Each adds how far the base's ratio
to it moved; the formula then counts as three machines. The study is in
``docs/explanation/projection.md``.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, section on base-ratio projection.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.amounts import NORMAL_90

Array = NDArray[np.float64]

ALIKE: Final = 0.5  # half-width one e-folding of p away, of machines as fast as each other [D]
UNLIKE: Final = 0.4  # more of it for each e-folding of kappa ... [D]
MOST_UNLIKE: Final = 1.5  # ... up to so many [D]
UNREPEATED: Final = 0.05  # sd of log time that one machine differs from itself [D]
WORTH: Final = 3.0  # machines that the formula counts as, beside those that were run [D]


def moved_half_width(reach: ArrayLike, ratio: ArrayLike, moved: ArrayLike | None = None) -> Array:
    """Half-width of the 90 % interval of log time that the base ratio leaves.

    Parameters
    ----------
    reach : array_like, shape (points,)
        Distance in log p from the count at which the ratio is known, at least 0. [1]
    ratio : float
        Time of the target over that of the base there, above 0. [1]
    moved : array_like, shape (machines, points), optional
        Change of the log ratio between the base and each other machine over this distance; NaN
        where it is not known.

    Returns
    -------
    ndarray, shape (points,)

    Examples
    --------
    >>> moved_half_width([0.0, 2.0], ratio=1.0).round(2)
    array([0.08, 0.71])
    >>> moved_half_width([2.0], ratio=1.0, moved=[[0.1], [-0.05], [0.0]]).round(2)
    array([0.51])
    """
    distance = np.abs(np.asarray(reach, dtype=np.float64))
    unlike = np.minimum(np.abs(np.log(np.asarray(ratio, dtype=np.float64))), MOST_UNLIKE)
    variance = (ALIKE + UNLIKE * unlike) ** 2 * distance
    if moved is not None:
        seen = NORMAL_90 * np.asarray(moved, dtype=np.float64)
        known = np.isfinite(seen)
        squares = np.where(known, seen, 0.0) ** 2
        variance = (squares.sum(axis=0) + WORTH * variance) / (known.sum(axis=0) + WORTH)
    return np.asarray(np.sqrt(variance + (NORMAL_90 * UNREPEATED) ** 2))
