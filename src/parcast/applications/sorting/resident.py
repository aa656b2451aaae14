"""Peak resident memory of this process: everything counted, shared libraries as well."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

STATUS: Final = Path("/proc/self/status")
PEAK: Final = "VmHWM:"  # not ru_maxrss, which begins with that of the process that forked


def peak_memory() -> float | None:
    """Largest resident memory since the program began or it was reset; None: not known. [B]."""
    with suppress(OSError):
        for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(PEAK):
                return float(line.split()[1]) * 1024
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return float(peak) * (1 if sys.platform == "darwin" else 1024)
    return None


def reset_peak() -> None:
    """Let the peak begin anew, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
