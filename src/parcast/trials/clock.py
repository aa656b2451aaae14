"""Time that is left for launches, and how far they are."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from parcast.errors import ParcastError

Progress = Callable[[int, int | None], object]


class TimeIsOver(ParcastError):  # noqa: N818 - says what happened, as a result
    """The limit was reached before a calibration had what it needs."""


@dataclass(kw_only=True, slots=True)
class Clock:
    """Time that is left, and where progress is reported."""

    limit: float | None = None  # [s]
    progress: Progress | None = None
    begun: float = field(default_factory=time.monotonic)
    done: float = 0.0  # in the unit of `total`
    total: float = 1.0
    interrupted: bool = False

    @property
    def seconds(self) -> float:
        """Time since the start [s]."""
        return time.monotonic() - self.begun

    @property
    def left(self) -> float:
        """Time until the limit; without end where there is none [s]."""
        return inf if self.limit is None else max(self.limit - self.seconds, 0.0)

    @property
    def ended_by(self) -> str:
        """Why no launch may be begun any more; "" while one may."""
        if self.interrupted:
            return "interrupted"
        return "" if self.left else "time limit"

    def advance(self, expected: float) -> None:
        """Say how far we are."""
        self.done += expected
        if self.progress is not None:
            self.progress(min(round(1000 * self.done / self.total), 1000), 1000)


def system_load() -> float | None:
    """Load of the system in the last minute; None where nobody tells [1]."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # the former of Windows
        return None
