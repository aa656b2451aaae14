"""The MPI that is there: where its mpiexec is, who made it, and what it needs.

Each implementation needs another environment to start as root, to start more ranks than there are
cores, and to let go of a core while it waits.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Final

from parcast.errors import RunFailed
from parcast.needs import install, require_unix

INSTALL: Final = f"Install mpi4py and an MPI with: {install('mpi')}"
PATIENCE: Final = 30.0  # that mpiexec has to tell its version [s]
_VERSION = re.compile(r"(?<!\d)\d++(?:\.\d+)+\w*")
_VENDORS: Final = {
    "Open MPI": "Open ?MPI|OpenRTE|prte",
    "Intel MPI": "Intel",  # whose mpiexec is a Hydra too
    "MPICH": "HYDRA",
}

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD: Final = dict.fromkeys(_THREADS, "1")  # a rank is one processor
ON_ONE_HOST: Final = {  # opening UCX and OFI takes a second a process, and one host needs neither
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,sm,tcp",
    "OMPI_MCA_osc": "^ucx",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Mpi:
    """An implementation of MPI."""

    vendor: str  # "MPICH", "Open MPI", "Intel MPI" or "unknown"
    version: str  # "" if it does not say
    mpiexec: str  # path

    def environment(self, *, crowded: bool, one_host: bool = True) -> dict[str, str]:
        """Variables that its ranks need; if crowded, they give their core up while they wait.

        Ranks that are not all on this host use whatever network there is between hosts.
        """
        if self.vendor == "Open MPI":
            return (
                ONE_THREAD
                | (ON_ONE_HOST if one_host else {})
                | {
                    "OMPI_ALLOW_RUN_AS_ROOT": "1",
                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                    "PRTE_MCA_hwloc_default_binding_policy": "none",  # ranks pin themselves
                    "OMPI_MCA_mpi_yield_when_idle": str(int(crowded)),
                }
            )
        if self.vendor == "MPICH" and crowded:
            return ONE_THREAD | {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
        return dict(ONE_THREAD)


def find_mpi() -> Mpi:
    """MPI that ranks can be started with: that of this environment, else the first on the path."""
    require_unix("Starting ranks needs")
    if find_spec("mpi4py") is None:
        raise RunFailed(f"Starting ranks needs mpi4py, which is not installed. {INSTALL}")
    beside = shutil.which("mpiexec", path=sysconfig.get_path("scripts"))
    beside = beside or shutil.which("mpiexec", path=os.path.dirname(sys.executable))
    path = beside or shutil.which("mpiexec")
    if path is None:
        raise RunFailed(f"Starting ranks needs an MPI, but there is no mpiexec. {INSTALL}")
    return _described(path)


@cache
def _described(path: str) -> Mpi:
    """Ask an mpiexec who made it."""
    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as failure:
        raise RunFailed(f"{path} does not report its version: {failure}. {INSTALL}") from failure
    named = (name for name, known in _VENDORS.items() if re.search(known, answer))
    vendor = next(named, "unknown")
    version = _VERSION.search(answer)
    return Mpi(vendor=vendor, version=version[0] if version else "", mpiexec=path)


def available_cores() -> tuple[int, ...]:
    """Numbers of the cores that this process may use, ascending."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))
