"""The programs by their names: that of a law is the module of its name beside this one.

Each is loaded, and numpy with it, when it is asked for.
"""

from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Final

from parcast.descriptions.law_names import LAWS
from parcast.errors import ParameterError
from parcast.places import load
from parcast.units import shown
from parcast.words import did_you_mean

if TYPE_CHECKING:
    from parcast.kernels.kernel import Kernel


_BESIDE = {module.name for module in iter_modules([str(Path(__file__).parent)])}
# Each name and the place of its Kernel.
KERNELS: Final = {law: f"{__package__}.{law}:KERNEL" for law in LAWS if law in _BESIDE}


def kernel_named(name: str) -> "Kernel":
    """Give a program by its name; where there is none, the nearest is suggested."""
    if not isinstance(name, str) or name not in KERNELS:
        name = str(name)
        hint = did_you_mean(name, KERNELS) or f"There is {', '.join(KERNELS)}."
        must = "be that of a program"
        raise ParameterError("name", must=must, got=shown(name), hint=hint.lstrip())
    kernel: Kernel = load(KERNELS[name])
    return kernel
