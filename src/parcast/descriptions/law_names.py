"""The timing laws by their names: the class of each, loaded when a phase names it.

A law joins with one line here, as does one of the I/O of a phase; those of other packages join
with an entry point of `GROUP`.
"""

from typing import Final

LAWS: Final = {
    "spmd": "parcast.laws.spmd.law:SpmdPhase",
    "regions": "parcast.laws.regions:RegionsPhase",
    "merge_sort": "parcast.laws.sorters:MergeSortPhase",
    "sort": "parcast.laws.sorters:SortPhase",
    "square_sort": "parcast.laws.sorters:SquareSortPhase",
    "sample_sort": "parcast.laws.sorters:SampleSortPhase",
    "fractal": "parcast.laws.independent_inputs:FractalPhase",
    "monte_carlo": "parcast.laws.independent_inputs:MonteCarloPhase",
    "matmul": "parcast.laws.matrices:MatmulPhase",
    "gauss": "parcast.laws.matrices:GaussPhase",
    "stencil": "parcast.laws.stencil:StencilPhase",
    "counted": "parcast.laws.counted:CountedPhase",
    "gustafson": "parcast.laws.curve_phases:GustafsonPhase",
    "amdahl": "parcast.laws.curve_phases:AmdahlPhase",
    "logarithmic": "parcast.laws.curve_phases:LogarithmicPhase",
    "linear": "parcast.laws.curve_phases:LinearPhase",
    "usl": "parcast.laws.curve_phases:UslPhase",
    "quadratic": "parcast.laws.curve_phases:QuadraticPhase",
    "power": "parcast.laws.curve_phases:PowerPhase",
    "pipeline": "parcast.pipeline.law.phase:PipelinePhase",
}
GROUP: Final = "parcast.laws"

IO_LAWS: Final = {"array_io": "parcast.arrays.law.phase:ArrayIO"}  # of the I/O of an spmd phase
