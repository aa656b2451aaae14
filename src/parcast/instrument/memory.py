"""Memory at hand: hypervisors take back what a virtual machine has not used for some seconds."""

import os
from mmap import PAGESIZE

import numpy as np


def provide(size: int) -> None:
    """Use so much free memory, but at most half of it, and free it again. [B].

    What uses it next does not wait until the hypervisor gives it back, which takes up to 20 times
    as long as filling it.
    """
    pages = os.sysconf("SC_AVPHYS_PAGES") if "SC_AVPHYS_PAGES" in os.sysconf_names else 0
    np.empty(min(size, pages * PAGESIZE // 2), np.uint8)[::PAGESIZE] = 0
