"""A testbed in words, and the one that this process runs on."""

import json
import os
from contextlib import suppress
from typing import Final

from parcast.errors import ParameterError
from parcast.testbed.testbed import Testbed

VARIABLE: Final = "PARCAST_TESTBED"  # what every process of a testbed has


def testbed_here() -> Testbed | None:
    """Testbed that this process runs on; None where it runs on none that can be read."""
    with suppress(ValueError, TypeError, KeyError, ParameterError):
        told = json.loads(os.environ[VARIABLE])
        return Testbed(
            hosts=told["hosts"],
            link=told["link_B_per_s"],
            bus=told["network"] == "bus",
            latency=told["latency_s"],
            cpu=told["cpu"],
            disk=told["disk_B_per_s"],
        )
    return None


def short_name(testbed: Testbed) -> str:
    """Name of a testbed, its hosts and its network: "testbed of 4 hosts on a bus, 100 Mbit/s"."""
    said = f"testbed of {testbed.hosts} host{'s' if testbed.hosts > 1 else ''} on a "
    said += "bus" if testbed.bus else "switch"
    return said if testbed.link is None else f"{said}, {in_bits(testbed.link)}"


def in_words(testbed: Testbed) -> str:
    """Say what a testbed is: its network, and the limits of its hosts."""
    said = short_name(testbed)
    if testbed.link is not None:
        said += " together" if testbed.bus else " each"
    if testbed.latency:
        said += f", {testbed.latency * 1e6:g} us more for each packet"
    if testbed.cap is not None:
        said += f", {100 * testbed.cap:.3g}% of a core each"
    if testbed.disk is not None:
        said += f", {testbed.disk / 1e6:g} MB/s of disk each"
    return f"{said}."


def in_bits(rate: float) -> str:
    """Text for a rate of a link, in bits as its name has them."""
    bits = 8 * rate
    prefix, factor = next(pair for pair in (("G", 1e9), ("M", 1e6), ("k", 1e3)) if bits >= pair[1])
    return f"{bits / factor:g} {prefix}bit/s"
