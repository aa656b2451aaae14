"""Time of one message: what its calls take on either side, and what the wire takes besides.

    t_send(n) = lambda_s + ceil(n/pi)*tau + [n/r if n >= n_sw]         [R] (12)
    t_recv(n) = lambda_r + ceil(n/pi)*tau + [n/r if n >= n_sw]         [R] (12)
    t_tra(n)  = n/r if n < n_sw, else 0                                [R]

The source names lambda, r, tau and pi as the ingredients. Below the switch n_sw (the eager limit)
a send call returns once the message is buffered, so that the wire time is not part of it; from
there on both calls last until the message has arrived (rendezvous), and no time is left for the
wire alone. With `always`, n/r is part of both calls for every size, and t_tra is 0.

Two nodes communicate at the lower of their rates [D].

A rank that waits may rest between two looks for messages, longer and longer: a message that
arrives after it has waited for w seconds is noticed after, on average,

    t_rest(w) = min(rest + 0.4*w, rest + L)/2                                 [D]

where `rest` is what the first look takes, L the longest rest, and every rest half as long again as
the last. Both are 0 where ranks look all the time.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.arrays.law.declared import cost
from parcast.errors import require

GROWTH: Final = 0.4  # of a rest with the time waited, where each is 1.5 times the last [1] [D]


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """How messages are sent, and the lengths of those that hold no data."""

    packet: float = cost("size", 256.0, "Payload of a packet, pi.", above=0.0)
    eager_limit: float = cost(
        "size", 4096.0, "Size from which a message is sent by rendezvous, n_sw."
    )
    schema_length: float = cost("size", 512.0, "Length of the schema message, b_sch.")
    request_length: float = cost("size", 128.0, "Length of a request, b_req.")
    quit_length: float = cost("size", 32.0, "Length of the message that ends a request, b_quit.")
    rest: float = cost("time", 0.0, "Between two looks of a rank that has begun to wait.")  # [D]
    longest_rest: float = cost("time", 0.0, "Between two looks of one that has waited for long.")
    nonblocking: bool = cost(
        "", False, "Whether only the receiver spends the time of large messages."
    )
    always: bool = cost(
        "", False, "Whether calls last until a message has arrived, whatever its size."
    )

    @property
    def depends_on_pauses(self) -> bool:
        """Whether an exchange depends on what a server does between it and the next."""
        return self.nonblocking or self.rest > 0 or self.longest_rest > 0

    def __post_init__(self) -> None:
        """Refuse sizes below 0, and packets of nothing."""
        for name in ("rest", "longest_rest"):
            value = getattr(self, name)
            ok = np.isfinite(value) and value >= 0
            hint = "Give it in seconds."
            require(name, value, ok, must="be at least 0 and finite", hint=hint)
        hint = "Give it in bytes."
        require("packet", self.packet, self.packet > 0, must="be above 0", hint=hint)
        for name in ("eager_limit", "schema_length", "request_length", "quit_length"):
            value = getattr(self, name)
            require(name, value, value >= 0, must="be at least 0", hint=hint)

    def software_time(self, size: ArrayLike, startup: ArrayLike, packet_time: ArrayLike) -> Array:
        """Time of a send or receive call without the wire [s].

        >>> Protocol().software_time(4096, 40e-6, 1e-6)
        array(5.6e-05)
        """
        n, own, each = (np.asarray(x, dtype=np.float64) for x in (size, startup, packet_time))
        return np.asarray(own + np.ceil(n / self.packet) * each)

    def wire_time_in_call(self, size: ArrayLike, bandwidth: ArrayLike) -> Array:
        """Time of the wire for which the calls on both sides last [s]."""
        n, rate = (np.asarray(x, dtype=np.float64) for x in (size, bandwidth))
        return np.where(self.always | (n >= self.eager_limit), n / rate, 0.0)

    def wire_time(self, size: ArrayLike, bandwidth: ArrayLike) -> Array:
        """Time of the wire after the send call, t_tra [s].

        >>> Protocol().wire_time([2048, 4096], 40e6)
        array([5.12e-05, 0.00e+00])
        """
        n, rate = (np.asarray(x, dtype=np.float64) for x in (size, bandwidth))
        return np.where(self.always | (n >= self.eager_limit), 0.0, n / rate)

    def call_time(
        self, size: ArrayLike, startup: ArrayLike, packet_time: ArrayLike, bandwidth: ArrayLike
    ) -> Array:
        """Time of a send or receive call, equation (12) [R]. [s].

        >>> Protocol().call_time([128, 4096], 40e-6, 1e-6, 40e6)
        array([4.100e-05, 1.584e-04])
        """
        in_call = self.wire_time_in_call(size, bandwidth)
        return np.asarray(self.software_time(size, startup, packet_time) + in_call)

    def rest_time(self, waited: ArrayLike) -> Array:
        """Mean time until a rank that has waited notices a message, t_rest [s] [D].

        >>> Protocol(rest=1e-4, longest_rest=1e-3).rest_time([0.0, 1e-3, 1.0])
        array([5.0e-05, 2.5e-04, 5.5e-04])
        """
        w = np.asarray(waited, dtype=np.float64)
        return np.asarray((self.rest + np.minimum(GROWTH * w, self.longest_rest)) / 2)
