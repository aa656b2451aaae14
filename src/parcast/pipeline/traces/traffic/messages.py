"""The messages of a trace in the order in which they were sent: gaps, lengths and delays."""

from dataclasses import dataclass

import numpy as np

from parcast.aliases import Array
from parcast.pipeline.traces.trace import Trace


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Messages:
    """Columns of messages, ordered by the times at which they were sent."""

    sent: Array  # [s]
    lengths: Array  # [B]
    delays: Array  # from sent to received [s]
    residual: Array  # how far each delay may be off, as the clocks of its ranks may be [s]

    def __len__(self) -> int:
        """Count the messages."""
        return len(self.sent)

    @property
    def gaps(self) -> Array:
        """Times between one message and the next; one fewer than messages. [s]."""
        return np.diff(self.sent)


def messages_of(trace: Trace) -> Messages:
    """Take the messages of a trace."""
    events = trace.messages[np.argsort(trace.messages["sent"], kind="stable")]
    residual = np.asarray(trace.header.residual, dtype=np.float64)
    return Messages(
        sent=events["sent"].copy(),
        lengths=events["bytes"].astype(np.float64),
        delays=events["received"] - events["sent"],
        residual=residual[events["source"]] + residual[events["target"]],
    )
