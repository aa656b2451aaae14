"""Shared work, a fixed part, and a cost that grows with every processor.

    T(p) = a + b/p + c * p,    a, b, c >= 0

The growing cost is one message or one file for each processor, handled one after the other. Time
has its minimum at p = sqrt(b/c). Use it where a master talks to all; it is too gloomy where the
cost is a tree.

References
----------
.. [1] H. P. Flatt and K. Kennedy, "Performance of parallel processors," Parallel Computing,
   vol. 12, no. 1, pp. 1-20, 1989, :doi:`10.1016/0167-8191(89)90003-3` (overhead that grows with
   the processors, in general form [S]; the linear form is its simplest case [D]).
"""

from parcast.laws.terms import SumOfTerms, constant, linear, shared

LAW = SumOfTerms(
    name="linear",
    formula="a + b/p + c*p",
    source="Flatt and Kennedy 1989, doi:10.1016/0167-8191(89)90003-3",
    terms=(constant, shared, linear),
)
