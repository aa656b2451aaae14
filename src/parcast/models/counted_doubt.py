"""How wrong a counted program's time may be, and what another machine's runs say of it.

What such a time leaves out, dependent messages and messages sent while computing, stretches or
shortens what is sent, so its error grows with the share of the time that sending takes [D]:

    half-width^2 = COMPUTE^2 + (OWN * own / T)^2 + (SHARED * shared / T)^2

own is what each rank waits for by itself (startups, bytes at the rate of a pair, collectives),
and shared what the network shared by all adds, which is nearly sure: bytes that must pass it do.

A run on another machine, the donor, shows this error there, log(measured / modelled). It is taken
over as far as the same things take the time here [D]:

    log T = log T_model + k * log(T_donor / T_model,donor)
    k     = sum over parts of min(share here, share on the donor) / sum of shares on the donor

with shares of the time by startups, bytes of pairs, bytes shared and collectives. So a donor
whose network is a bus does not correct a machine whose time is latency. Nothing in k is fitted.
The study behind the constants is in ``docs/explanation/counted-programs.md``.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.models.counted import CountedCosts

Array = NDArray[np.float64]

COMPUTE: Final = 0.03  # half-width of log time of computing alone
OWN: Final = 0.35  # of what a rank waits for by itself
SHARED: Final = 0.1  # of what the shared network adds
TOLD: Final = 0.25  # share of the variance that a donor like this machine removes
TINY: Final = 1e-300  # against division by nothing


def model_half_width(costs: CountedCosts) -> Array:
    """Half-width of the 90 % interval of log time, from what takes the time.

    Parameters
    ----------
    costs : CountedCosts

    Returns
    -------
    ndarray, shape of the costs

    Examples
    --------
    >>> zero, one = np.zeros(1), np.ones(1)
    >>> parts = {"compute": one, "imbalance": zero, "pairs": zero, "collectives": zero}
    >>> model_half_width(CountedCosts(**parts, startups=one, shared=2 * one)).round(3)
    array([0.105])
    """
    time = np.maximum(costs.time, TINY)
    own = (costs.startups + costs.pairs + costs.collectives) / time
    return np.asarray(np.sqrt(COMPUTE**2 + (OWN * own) ** 2 + (SHARED * costs.shared / time) ** 2))


def carried_over(here: CountedCosts, donor: CountedCosts) -> tuple[Array, Array]:
    """How much of the donor's error is taken over, k, and how like it is to this machine.

    Parameters
    ----------
    here, donor : CountedCosts
        Of one program at the same counts of processors.

    Returns
    -------
    carried : ndarray
        k in [0, 1]; 0 where nothing is sent. [1]
    likeness : ndarray
        Shares in common over the larger sum of shares, in [0, 1]. [1]
    """
    shares = [
        np.stack(
            np.broadcast_arrays(
                *(x / np.maximum(costs.time, TINY) for x in _sending(costs)),
            )
        )
        for costs in (here, donor)
    ]
    common = np.minimum(*shares).sum(axis=0)
    ours, theirs = (x.sum(axis=0) for x in shares)
    carried = np.where(theirs > 0, common / np.maximum(theirs, TINY), 0.0)
    most = np.maximum(ours, theirs)
    return carried, np.where(most > 0, common / np.maximum(most, TINY), 0.0)


def donated_half_width(model: Array, likeness: Array) -> Array:
    """Half-width of log time after a donor's error was taken over.

    >>> donated_half_width(np.array([0.4, 0.4]), np.array([0.0, 1.0])).round(2)
    array([0.4 , 0.35])
    """
    return np.asarray(np.maximum(model * np.sqrt(1.0 - TOLD * likeness**2), COMPUTE))


def _sending(costs: CountedCosts) -> tuple[Array, ...]:
    """Give the parts of what is sent."""
    return costs.startups, costs.pairs, costs.shared, costs.collectives
