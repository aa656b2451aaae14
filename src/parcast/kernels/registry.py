"""The programs by their names; each is loaded, and numpy with it, when it is asked for.

A program is a module that holds its `Kernel` as KERNEL, and a line here: the command line, its
help, ``python -m parcast.kernels`` and `validate` know no others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from parcast.errors import ParameterError
from parcast.units import shown
from parcast.words import did_you_mean

if TYPE_CHECKING:
    from parcast.kernels.kernel import Kernel

KERNELS: Final = {
    "sort": "parcast.kernels.sort",
    "square_sort": "parcast.kernels.square_sort",
    "fractal": "parcast.kernels.fractal",
    "monte_carlo": "parcast.kernels.monte_carlo",
    "matmul": "parcast.kernels.matmul",
    "gauss": "parcast.kernels.gauss",
    "stencil": "parcast.kernels.stencil",
}


def kernel_named(name: str) -> "Kernel":
    """Give a program by its name; where there is none, the nearest is suggested."""
    if not isinstance(name, str) or name not in KERNELS:
        name = str(name)
        hint = did_you_mean(name, KERNELS) or f" There is {', '.join(KERNELS)}."
        raise ParameterError(f"name must be that of a program, got {shown(name)}.{hint}")
    kernel: Kernel = import_module(KERNELS[name]).KERNEL
    return kernel
