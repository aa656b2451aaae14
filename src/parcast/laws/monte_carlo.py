"""Monte Carlo simulations in time slices: independent samples, gathered after each slice.

    T(1) = sum over slices of n*alpha/W                                           [R], (5.1)
    T(P) = sum over slices of [ n*alpha/(P*W) + n*beta/u ]                        [R], (5.2)

Speedup and efficiency are those of `parcast.laws.fractal`, (5.3) and (5.4): they depend neither
on n nor on the slices. Use it for samples that need nothing of each other within a slice.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The equations are reconstructed from its prose.
"""

from typing import ClassVar, Literal

from parcast.aliases import Array
from parcast.descriptions.description import parameter
from parcast.descriptions.program import LAW_KEY
from parcast.laws.counting import Count, Counts, Size, SteadyStatePhase
from parcast.laws.fractal import FractalPhase


class MonteCarloPhase(SteadyStatePhase):
    """n independent samples in each of some time slices.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> phase = MonteCarloPhase(law="monte_carlo", alpha=100, slices=2)
    >>> machine = Machine(compute={"rate": "1 Mflop/s"}, network={"bandwidth": "8 MB/s"})
    >>> phase.times(machine, {"p": [1, 10], "n": 1e6}).time
    array([200.,  22.])
    """

    source: ClassVar[str] = "Shi c. 1996, equations (5.1) to (5.4)"
    law: Literal["monte_carlo"] = LAW_KEY
    alpha: Count = parameter("1", "Steps of a sample.")
    beta: Size = parameter(
        "8 B", 'Bytes that are sent for a sample; "8 B * p / n" for one sum a processor.'
    )
    slices: Count = parameter("1", "Time slices.")

    @staticmethod
    def law_counts(n: Array, p: Array, *, alpha: Array, beta: Array, slices: Array) -> Counts:
        """Count as many slices of independent samples."""
        one = FractalPhase.law_counts(n, p, alpha=alpha, beta=beta)
        return Counts(
            steps=one.steps * slices,
            shared=one.shared * slices,
            network_bytes=one.network_bytes * slices,
            messages=one.messages * slices,
        )
