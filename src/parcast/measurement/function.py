"""Runs of a Python function that takes the values of a point by their names."""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from parcast.errors import ParameterError, one_line
from parcast.measurement.point import MeasuredPoint
from parcast.trials.command import CoreAccount, Ran
from parcast.trials.process_memory import held_by, reset_peak
from parcast.trials.tree_memory import PROC
from parcast.trials.trial import Launch, Trial


@dataclass(frozen=True, slots=True)
class MeasuredFunction:
    """A function in place of a command."""

    function: Callable[..., object]

    texts = ()  # with names in braces
    environment: ClassVar[Mapping[str, str]] = {}
    setup = prepare = cleanup = ""  # what is around runs of a command

    @property
    def command(self) -> list[str]:
        """Its name, as a command is called."""
        return [f"{getattr(self.function, '__qualname__', type(self.function).__name__)}()"]

    @property
    def launcher(self) -> "FunctionLauncher":
        """What calls it."""
        return FunctionLauncher(self.function)

    def about(self) -> dict[str, Any]:
        """What tells a measurement from others."""
        return {"command": self.command}


@dataclass(frozen=True, slots=True)
class FunctionLauncher:
    """Calls a function in this process; one that raises has failed."""

    function: Callable[..., object]

    def __call__(
        self,
        launch: Launch[MeasuredPoint],
        *,
        report: Callable[[Trial[MeasuredPoint, Ran]], object],
    ) -> None:
        """Make the runs of a launch, one after another."""
        made: Counter[MeasuredPoint] = Counter()
        for case in launch.cases:
            ran, failure = self._ran(case.columns)
            made[case] += 1
            if made[case] > launch.discarded:
                facts = {"repetition": made[case] - launch.discarded, "failure": failure}
                report(launch.trial(case, ran.seconds, ran, others=ran.others, **facts))

    def _ran(self, values: Mapping[str, Any]) -> tuple[Ran, str]:
        """Call it, and say why it failed; "" if it did not."""
        alone = reset_peak()
        before, account, failure = _used(), CoreAccount.now(), ""
        begun = time.perf_counter()
        try:
            self.function(**values)
        except TypeError as fault:
            if fault.__traceback__ is not None and fault.__traceback__.tb_next is None:
                raise ParameterError(
                    "command",
                    must=f"be a function of {', '.join(values)}",
                    got=one_line(str(fault)),
                    hint="It is called with these names: def run(p, n): ...",
                ) from fault
            failure = _words(fault)
        except Exception as fault:
            failure = _words(fault)
        seconds = max(time.perf_counter() - begun, 1e-9)
        after, held = _used(), held_by(os.getpid())
        own = held.most if held and alone else None  # else it may be that of an earlier call
        used = [now - was for now, was in zip(after, before, strict=True)]
        every = account.until_now()[1]
        others = None if every is None else max(every - used[0] / seconds - used[1] / seconds, 0.0)
        ran = Ran(
            seconds=seconds,
            status=1 if failure else 0,
            user=used[0],
            system=used[1],
            memory=own,
            memory_total=own,
            memory_from=PROC if own else "",
            read=0,
            written=0,
            left=0,
            output="",
            others=others,
        )
        return ran, failure


def _words(fault: Exception) -> str:
    return f"raised {type(fault).__name__}: {one_line(str(fault))[:200]}"


def _used() -> tuple[float, float]:
    """Processor time of this process, and of the system for it [s]."""
    import resource  # which not every system has

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime, used.ru_stime
