"""The timing laws by their names: the class of each, loaded when a phase names it.

A law joins with one line here; those of other packages with an entry point of `GROUP`.
"""

from typing import Final

LAWS: Final = {
    "spmd": "parcast.laws.spmd.law:SpmdPhase",
    "regions": "parcast.laws.regions:RegionsPhase",
    "merge_sort": "parcast.laws.sort:MergeSortPhase",
    "sort": "parcast.laws.sort:SortPhase",
    "square_sort": "parcast.laws.square_sort:SquareSortPhase",
    "fractal": "parcast.laws.fractal:FractalPhase",
    "monte_carlo": "parcast.laws.monte_carlo:MonteCarloPhase",
    "matmul": "parcast.laws.matmul:MatmulPhase",
    "gauss": "parcast.laws.gauss:GaussPhase",
    "stencil": "parcast.laws.stencil:StencilPhase",
    "counted": "parcast.laws.counted:CountedPhase",
    "gustafson": "parcast.laws.curves:GustafsonPhase",
    "amdahl": "parcast.laws.curves:AmdahlPhase",
    "logarithmic": "parcast.laws.curves:LogarithmicPhase",
    "linear": "parcast.laws.curves:LinearPhase",
    "usl": "parcast.laws.curves:UslPhase",
    "quadratic": "parcast.laws.curves:QuadraticPhase",
    "power": "parcast.laws.curves:PowerPhase",
}
GROUP: Final = "parcast.laws"
