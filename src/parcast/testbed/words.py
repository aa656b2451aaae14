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
        facts = json.loads(os.environ[VARIABLE])
        return Testbed(
            hosts=facts["hosts"],
            link=facts["link_B_per_s"],
            bus=facts["network"] == "bus",
            latency=facts["latency_s"],
            cpu=facts["cpu"],
            disk=facts["disk_B_per_s"],
        )
    return None


def short_name(testbed: Testbed) -> str:
    """Name of a testbed, its hosts and its network: "testbed of 4 hosts on a bus, 100 Mbit/s"."""
    words = f"testbed of {testbed.hosts} host{'s' if testbed.hosts > 1 else ''} on a "
    words += "bus" if testbed.bus else "switch"
    return words if testbed.link is None else f"{words}, {in_bits(testbed.link)}"


def in_words(testbed: Testbed) -> str:
    """Say what a testbed is: its network, and the limits of its hosts."""
    words = short_name(testbed)
    if testbed.link is not None:
        words += " together" if testbed.bus else " each"
    if testbed.latency:
        words += f", {testbed.latency * 1e6:g} us more for each packet"
    if testbed.cap is not None:
        words += f", {100 * testbed.cap:.3g}% of a core each"
    if testbed.disk is not None:
        words += f", {testbed.disk / 1e6:g} MB/s of disk each"
    return f"{words}."


def in_bits(rate: float) -> str:
    """Text for a rate of a link, in bits as its name has them."""
    bits = 8 * rate
    prefix, factor = next(pair for pair in (("G", 1e9), ("M", 1e6), ("k", 1e3)) if bits >= pair[1])
    return f"{bits / factor:g} {prefix}bit/s"
