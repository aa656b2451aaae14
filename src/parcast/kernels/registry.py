"""The programs by their names; each is loaded, and numpy with it, when it is asked for."""

from typing import Final

from parcast.errors import ParameterError
from parcast.kernels.kernel import Kernel
from parcast.places import load
from parcast.units import shown
from parcast.words import did_you_mean

KERNELS: Final = {  # each name and the place of its Kernel
    "sort": "parcast.kernels.sort:KERNEL",
    "square_sort": "parcast.kernels.square_sort:KERNEL",
    "fractal": "parcast.kernels.fractal:KERNEL",
    "monte_carlo": "parcast.kernels.monte_carlo:KERNEL",
    "matmul": "parcast.kernels.matmul:KERNEL",
    "gauss": "parcast.kernels.gauss:KERNEL",
    "stencil": "parcast.kernels.stencil:KERNEL",
}


def kernel_named(name: str) -> Kernel:
    """Give a program by its name.

    Parameters
    ----------
    name : str
        One of `KERNELS`.

    Returns
    -------
    Kernel

    Raises
    ------
    ParameterError
        If there is no such program; the nearest is suggested.

    Examples
    --------
    >>> kernel_named("sort").size
    'keys'
    """
    if not isinstance(name, str) or name not in KERNELS:
        name = str(name)
        hint = did_you_mean(name, KERNELS) or f"There is {', '.join(KERNELS)}."
        must = "be that of a program"
        raise ParameterError("name", must=must, got=shown(name), hint=hint.lstrip())
    kernel: Kernel = load(KERNELS[name])
    return kernel
