"""How alike two machines are, by the figures that both descriptions give.

A donor weighs less in a forecast the more its machine differs from the target [D]_::

    likeness = 1 / (1 + (distance / ln 4)^2)

distance being the root of the mean squared logarithm of the ratios of the figures both give, such
as the rates of a processor, of the network and of the disks. Machines a factor of four apart in
all weigh half. A machine of which nothing is known weighs as one that far away.

References
----------
.. [D] parcast's own default: no measured set at hand came with descriptions to test it on.
"""

from collections.abc import Mapping

import numpy as np

APART = float(np.log(4.0))  # distance at which a donor weighs half [D]
UNKNOWN = 0.5


def likeness(here: Mapping[str, float], there: Mapping[str, float]) -> float:
    """Weight of a donor by its machine's figures, from 0 to 1. [1].

    Parameters
    ----------
    here, there : mapping of str to float
        Figures of both machines by name, above 0, in the same units.

    Examples
    --------
    >>> t3e = {"compute.rate": 1.2e9, "network.bandwidth": 300e6}
    >>> likeness(t3e, t3e), round(likeness(t3e, {"compute.rate": 0.3e9}), 2), likeness(t3e, {})
    (1.0, 0.5, 0.5)
    """
    shared = [name for name in here if name in there]
    if not shared:
        return UNKNOWN
    ratios = np.log([here[name] / there[name] for name in shared])
    return float(1.0 / (1.0 + np.mean(ratios**2) / APART**2))
