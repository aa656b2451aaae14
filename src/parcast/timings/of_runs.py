"""Refusal of measurements whose times are not those of whole runs, where only these will do."""

from dataclasses import replace

from parcast.errors import Argument, ParameterError
from parcast.timings.measure import Measure


def require_times_of_runs(name: str, measure: Measure, *, must: str = "be times of runs") -> None:
    """Refuse speedups, and rates without the work of a run.

    >>> known = Measure(quantity="rate", unit="ns/day", amount="ns")
    >>> require_times_of_runs("known", replace(known, work=10.0))
    >>> try:
    ...     require_times_of_runs("known", known)
    ... except ParameterError as refusal:
    ...     print(refusal.got, "->", refusal.hint[1])
    times of one unit of work -> parcast.read_measurements(path, work='1000 ns')
    """
    if measure.is_of_a_run:
        return
    is_rate = measure.quantity == "rate"
    example = replace(measure, work=1000.0).work_done
    raise ParameterError(
        name,
        must=must,
        got="times of one unit of work" if is_rate else "speedups",
        hint=(
            "Give the work of a run: ",
            Argument("work", example, python=f"parcast.read_measurements(path, work={example!r})"),
            ".",
        )
        if is_rate
        else "Give a table of times.",
    )
