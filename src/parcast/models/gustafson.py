"""Gustafson's law: the work grows with the processors, so the time stays.

    T(p) = t,    scaled speedup(p) = p - serial * (p - 1)

On p processors a run takes `serial` of its time in serial code and the rest in code whose work
was made p times larger. Use it for weak scaling of programs that communicate little; a forecast by
it is the time measured.

References
----------
.. [1] J. L. Gustafson, "Reevaluating Amdahl's law," Commun. ACM, vol. 31, no. 5, pp. 532-533,
   May 1988, :doi:`10.1145/42411.42415`. The scaled speedup is its equation, [S]; that the time
   stays is its assumption, in words.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.errors import require
from parcast.models.terms import SumOfTerms, constant

LAW = SumOfTerms(
    name="gustafson",
    formula="a",
    source="Gustafson 1988, doi:10.1145/42411.42415",
    terms=(constant,),
)


def gustafson_speedup(p: ArrayLike, *, serial: ArrayLike) -> NDArray[np.float64]:
    """Scaled speedup: how much longer one processor would take for the work of `p`.

    Parameters
    ----------
    p : array_like, shape (...)
        Processors, at least 1. [1]
    serial : array_like, broadcastable with `p`
        Fraction of the time *on p processors* that is serial, in [0, 1]. [1]

    Returns
    -------
    ndarray, shape of `p` and `serial` broadcast together
        Scaled speedup. [1]

    Raises
    ------
    ParameterError
        If any element lies outside the domain given above, or is NaN.

    Examples
    --------
    >>> gustafson_speedup([1, 10], serial=0.6)
    array([1. , 4.6])
    """
    p, serial = (np.asarray(x, dtype=np.float64) for x in (p, serial))
    require("p", p, p >= 1, must="be at least 1", hint="Count processors from 1.")
    in_unit = (serial >= 0) & (serial <= 1)
    require("serial", serial, in_unit, must="lie in [0, 1]", hint="Write 5% as 0.05.")
    return np.asarray(p - serial * (p - 1))
