"""Shared work, a fixed part, and a cost that grows as a tree over the processors.

    T(p) = a + b/p + c * log2(p),    a, b, c >= 0

The tree is a broadcast, a reduction or a barrier. Use it for strong scaling with collective
communication and for weak scaling that slows down gently (then b is 0).

References
----------
.. [1] R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication
   operations in MPICH," Int. J. High Perform. Comput. Appl., vol. 19, no. 1, pp. 49-66, 2005,
   :doi:`10.1177/1094342005051521`: the ceil(lg p) steps of binomial trees [S]. That the steps are
   added to Amdahl's two terms, without the ceiling, is common practice [D].
"""

from parcast.laws.terms import SumOfTerms, constant, logarithmic, shared

LAW = SumOfTerms(
    name="logarithmic",
    formula="a + b/p + c*log2(p)",
    source="Thakur et al. 2005, doi:10.1177/1094342005051521, with Amdahl's terms",
    terms=(constant, shared, logarithmic),
)
