"""What regions that exchange or access files cost on a machine.

    halo          min(k, P - 1) * T_send(m)      messages to k neighbours, and as many back    [D]
    write, read   t0 + V / (d * B)               V bytes of all processors on d disks          [D]

Of a halo, messages to the neighbours go out one after the other while those of the neighbours come
in; where all pairs together are limited, all messages of all processors take at least their bytes
over that rate. A lone processor has no neighbour. Disks are shared evenly and without a queue: the
`spmd` law is the one for disks that are waited for.
"""

import numpy as np

from parcast.amounts import Point
from parcast.breakdown import Array
from parcast.errors import require
from parcast.machine import Machine
from parcast.models.primitives import primitive_time


def halo_time(machine: Machine, at: Point, volume: Array, neighbours: Array) -> Array:
    """Time of one exchange with neighbours; 0 on one processor.

    Parameters
    ----------
    machine : Machine
        Its figures of `send`, or else its network, price a message.
    at : mapping
        As for `parcast.amounts.Amount`.
    volume : ndarray
        Bytes to one neighbour. [B]
    neighbours : ndarray
        Neighbours of the processor with the most. [1]

    Returns
    -------
    ndarray
        [s]

    Raises
    ------
    ParameterError
        If there are bytes to send and the machine gives no rate for them.
    """
    p = np.asarray(at["p"], dtype=np.float64)
    there = np.minimum(neighbours, p - 1)
    time = there * primitive_time("send", machine, at, volume)
    if np.any(volume > 0) and machine.saturates(at):
        together = machine.need("network.saturation", at, why="a region of kind halo")
        time = np.maximum(time, p * there * volume / together)
    return np.asarray(time)


def file_time(kind: str, machine: Machine, at: Point, volume: Array) -> Array:
    """Time in which all processors together write or read once.

    Parameters
    ----------
    kind : {"write", "read"}
    machine : Machine
        Its storage: `read_bandwidth` where it is given prices what is read.
    at : mapping
        As for `parcast.amounts.Amount`; "d" is the machine's number of servers where it is not
        given.
    volume : ndarray
        Bytes of all processors. [B]

    Returns
    -------
    ndarray
        [s]

    Raises
    ------
    ParameterError
        If there are bytes and the machine gives no rate for them, or d is below 1.
    """
    storage = machine.storage
    d = np.asarray(at.get("d", storage.servers or 1), dtype=np.float64)
    require("d", d, d >= 1, must="be at least 1", hint="Count disks from 1.")
    latency = storage.latency(at) if storage.latency is not None else np.zeros(())
    if not np.any(volume > 0):
        return np.asarray(latency)
    reads = kind == "read" and storage.read_bandwidth is not None
    key = "storage.read_bandwidth" if reads else "storage.bandwidth"
    rate = machine.need(key, at, why=f"a region of kind {kind}")
    return np.asarray(latency + volume / (d * rate))
