"""The programs by their names, which are those of their laws; that of "writer" is "spmd".

Each is loaded, and numpy with it, when it is asked for.
"""

from typing import TYPE_CHECKING, Final

from parcast.errors import ParameterError
from parcast.places import load
from parcast.units import shown
from parcast.words import did_you_mean

if TYPE_CHECKING:
    from parcast.kernels.kernel import Kernel

KERNELS: Final = {  # each name and the place of its Kernel
    "sort": "parcast.kernels.sorters:SORT",
    "square_sort": "parcast.kernels.sorters:SQUARE_SORT",
    "sample_sort": "parcast.kernels.sample_sort:KERNEL",
    "fractal": "parcast.kernels.fractal:KERNEL",
    "monte_carlo": "parcast.kernels.monte_carlo:KERNEL",
    "matmul": "parcast.kernels.matmul:KERNEL",
    "gauss": "parcast.kernels.gauss:KERNEL",
    "stencil": "parcast.kernels.stencil:KERNEL",
    "writer": "parcast.kernels.writer:KERNEL",
}
COUNTED: Final = tuple(name for name in KERNELS if name != "writer")  # whose law counts steps


def kernel_named(name: str) -> "Kernel":
    """Give a program by its name; where there is none, the nearest is suggested."""
    if not isinstance(name, str) or name not in KERNELS:
        name = str(name)
        hint = f"{did_you_mean(name, KERNELS)} Programs: {', '.join(KERNELS)}.".lstrip()
        raise ParameterError("name", must="be a program", got=shown(name), hint=hint)
    kernel: Kernel = load(KERNELS[name])
    return kernel
