"""Shared work, a fixed part, and a cost of every pair of processors.

    T(p) = a + b/p + c * p^2,    a, b, c >= 0

The growing cost is an exchange between all pairs that one shared medium carries. Use it where time
has already turned and rises steeply; it is far too gloomy elsewhere.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000: the measured times of its finite-difference program follow this
   form within 2 % on two machines of three. The fit is ours [D].
"""

from parcast.laws.terms import SumOfTerms, constant, quadratic, shared

LAW = SumOfTerms(
    name="quadratic",
    formula="a + b/p + c*p^2",
    source="fitted to the times of In et al., c. 2000",
    terms=(constant, shared, quadratic),
)
