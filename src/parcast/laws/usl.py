"""The Universal Scalability Law: contention for what is shared, and keeping it coherent.

    T(p) = t1 * (1 + contention * (p - 1) + coherency * p * (p - 1)) / p

`contention` is Amdahl's serial fraction; `coherency` the cost of every pair of processors keeping
each other up to date, which makes time rise again beyond p = sqrt((1 - contention) / coherency).
Use it for shared data and locks; it is too gloomy where communication is a tree.

References
----------
.. [1] N. J. Gunther, "A general theory of computational scalability based on rational functions,"
   2008, :arxiv:`0808.1431`: equation of the capacity C(p) [S]; T(p) = t1 / C(p).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.errors import require
from parcast.laws.terms import SumOfTerms, constant, linear_beyond_one, shared

LAW = SumOfTerms(  # the same law: a = t1*contention, b = t1*(1 - contention), c = t1*coherency
    name="usl",
    formula="a + b/p + c*(p - 1)",
    source="Gunther 2008, arXiv:0808.1431",
    terms=(constant, shared, linear_beyond_one),
)


def usl_time(
    p: ArrayLike, *, t1: ArrayLike, contention: ArrayLike, coherency: ArrayLike
) -> NDArray[np.float64]:
    """Wall time of a fixed problem on `p` processors.

    Parameters
    ----------
    p : array_like, shape (...)
        Processors, at least 1. [1]
    t1 : array_like, broadcastable with `p`
        Wall time on one processor, above 0. [s]
    contention : array_like, broadcastable with `p`
        Fraction of the work that waits for what is shared, in [0, 1]. [1]
    coherency : array_like, broadcastable with `p`
        Cost of a pair of processors, as a fraction of `t1`, at least 0. [1]

    Returns
    -------
    ndarray, shape of the arguments broadcast together
        Wall time. [s]

    Raises
    ------
    ParameterError
        If any element lies outside the domain given above, or is NaN.

    Examples
    --------
    >>> usl_time([1, 2, 10], t1=100.0, contention=0.1, coherency=0.01)
    array([100.,  56.,  28.])
    """
    p, t1, contention, coherency = (
        np.asarray(x, dtype=np.float64) for x in (p, t1, contention, coherency)
    )
    require("p", p, p >= 1, must="be at least 1", hint="Count processors from 1.")
    require("t1", t1, t1 > 0, must="be above 0", hint="Give it in seconds.")
    in_unit = (contention >= 0) & (contention <= 1)
    require("contention", contention, in_unit, must="lie in [0, 1]", hint="Write 5% as 0.05.")
    require("coherency", coherency, coherency >= 0, must="be at least 0", hint="Write 1% as 0.01.")
    return np.asarray(t1 * (1 + contention * (p - 1) + coherency * p * (p - 1)) / p)
