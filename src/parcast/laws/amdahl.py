"""Amdahl's law: fixed work, of which a fraction cannot be shared.

    T(p) = t1 * (serial + (1 - serial) / p)

Use it for strong scaling when communication costs little. It never predicts that more processors
make a program slower; choose another law where they may.

References
----------
.. [1] G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing
   capabilities," in Proc. AFIPS SJCC, 1967, pp. 483-485, :doi:`10.1145/1465482.1465560`.
   (In prose; the formula is from [2]_, [S].)
.. [2] M. D. Hill and M. R. Marty, "Amdahl's law in the multicore era," Computer, vol. 41, no. 7,
   pp. 33-38, Jul. 2008, :doi:`10.1109/MC.2008.209`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.errors import require
from parcast.laws.terms import SumOfTerms, constant, shared

LAW = SumOfTerms(
    name="amdahl",
    formula="a + b/p",
    source="Amdahl 1967, doi:10.1145/1465482.1465560",
    terms=(constant, shared),
)


def amdahl_time(p: ArrayLike, *, t1: ArrayLike, serial: ArrayLike) -> NDArray[np.float64]:
    """Wall time of a fixed problem on `p` processors.

    Parameters
    ----------
    p : array_like, shape (...)
        Processors, at least 1. [1]
    t1 : array_like, broadcastable with `p`
        Wall time on one processor, above 0. [s]
    serial : array_like, broadcastable with `p`
        Fraction of `t1` that cannot be shared, in [0, 1]. [1]

    Returns
    -------
    ndarray, shape of `p`, `t1` and `serial` broadcast together
        Wall time. [s]

    Raises
    ------
    ParameterError
        If any element lies outside the domain given above, or is NaN.

    Examples
    --------
    >>> amdahl_time([1, 2, 8], t1=80.0, serial=0.25)
    array([80. , 50. , 27.5])
    """
    p, t1, serial = (np.asarray(x, dtype=np.float64) for x in (p, t1, serial))
    require("p", p, p >= 1, must="be at least 1", hint="Count processors from 1.")
    require("t1", t1, t1 > 0, must="be above 0", hint="Give it in seconds.")
    in_unit = (serial >= 0) & (serial <= 1)
    require("serial", serial, in_unit, must="lie in [0, 1]", hint="Write 5% as 0.05.")
    return np.asarray(t1 * (serial + (1 - serial) / p))
