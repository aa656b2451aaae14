"""Gustafson's law: the work grows with the processors, so the time stays.

    T(p) = t,    scaled speedup(p) = p - serial * (p - 1)

On p processors a run takes `serial` of its time in serial code and the rest in code whose work
was made p times larger. Use it for weak scaling of programs that communicate little; a forecast by
it is the time measured.

Amdahl's and Gustafson's laws are one: their serial fractions are of different times.

    Amdahl      S = P / (1 + (P - 1)*sigma_1)      sigma_1: of the time on one processor    [S]
    Gustafson   S = P - (P - 1)*sigma_P            sigma_P: of the time on P processors     [S]
    sigma_1 = sigma_P / (sigma_P + P*(1 - sigma_P))                                         [S]

Put sigma_P into Amdahl's formula, and it seems that Gustafson contradicts it: 60 % serial on ten
processors would give 1.6 and not 4.6. With the fraction of the time on one processor, 13 %, both
say 4.6. Use it to turn a fraction that was measured in a parallel run into the one that
`parcast.laws.amdahl` takes.

References
----------
.. [1] J. L. Gustafson, "Reevaluating Amdahl's law," Commun. ACM, vol. 31, no. 5, pp. 532-533,
   May 1988, :doi:`10.1145/42411.42415`. The scaled speedup is its equation, [S]; that the time
   stays is its assumption, in words.
.. [2] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import require
from parcast.laws.terms import SumOfTerms, constant

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


def serial_of_one(p: ArrayLike, *, serial: ArrayLike) -> Array:
    """Serial fraction of the time on one processor, from that on `p`.

    Parameters
    ----------
    p : array_like, shape (...)
        Processors, at least 1. [1]
    serial : array_like, broadcastable with `p`
        Fraction of the time on `p` processors that is serial, in [0, 1]. [1]

    Returns
    -------
    ndarray, shape of `p` and `serial` broadcast together
        sigma_1, which Amdahl's law takes. [1]

    Raises
    ------
    ParameterError
        If any element lies outside the domain given above, or is NaN.

    Examples
    --------
    >>> float(serial_of_one(10, serial=0.6).round(4))
    0.1304
    """
    p, serial = _checked(p, serial)
    return np.asarray(serial / (serial + p * (1.0 - serial)))


def serial_of_many(p: ArrayLike, *, serial: ArrayLike) -> Array:
    """Serial fraction of the time on `p` processors, from that on one.

    Parameters
    ----------
    p : array_like, shape (...)
        Processors, at least 1. [1]
    serial : array_like, broadcastable with `p`
        Fraction of the time on one processor that is serial, in [0, 1]. [1]

    Returns
    -------
    ndarray, shape of `p` and `serial` broadcast together
        sigma_P, which Gustafson's law takes. [1]

    Raises
    ------
    ParameterError
        If any element lies outside the domain given above, or is NaN.

    Examples
    --------
    >>> float(serial_of_many(10, serial=6 / 46).round(4))
    0.6
    """
    p, serial = _checked(p, serial)
    return np.asarray(p * serial / (p * serial + 1.0 - serial))


def _checked(p: ArrayLike, serial: ArrayLike) -> tuple[Array, Array]:
    """Processors and a fraction."""
    p, serial = (np.asarray(x, dtype=np.float64) for x in (p, serial))
    ok = (p >= 1) & np.isfinite(p)
    require("p", p, ok, must="be at least 1", hint="Count processors from 1.")
    in_unit = (serial >= 0) & (serial <= 1)
    require("serial", serial, in_unit, must="lie in [0, 1]", hint="Write 5% as 0.05.")
    return p, serial
