"""Why a plan is the best: what other schemas and other numbers of servers would take."""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.arrays.geometry.choices import Objective
from parcast.arrays.planning.result import ServerPlan
from parcast.units import format_quantity, percent
from parcast.words import counted

NOTICED: Final = 0.01  # of the time, from which a difference is mentioned [1]
DIGITS: Final = 4


def reasons_of(plans: Sequence[ServerPlan], objective: Objective, within: float) -> Iterator[str]:
    """Say it in sentences; `plans` has the best first."""
    best = plans[0]
    yield _of_objective(plans, objective, within)
    same = [plan for plan in plans if plan.servers == best.servers and plan is not best]
    if same:
        yield from _of_schema(best, max(same, key=lambda plan: plan.time))
    yield from near_counts(plans, best)
    yield from _more_servers(plans, best)


def schema_text(plan: ServerPlan) -> str:
    """Write the mesh and the schema of a plan."""
    return f"{'x'.join(map(str, plan.mesh))} {plan.schema}"


def range_text(ends: tuple[int, int]) -> str:
    """Write the least and the most of some counts."""
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _of_objective(plans: Sequence[ServerPlan], objective: Objective, within: float) -> str:
    """Say what it is the best of."""
    best, fastest = plans[0], min(plans, key=lambda plan: plan.time)
    of = counted(len(plans), "plan")
    if objective == "utilisation":
        text = f"the file systems are used for {_share(best.utilisation)}, the most of {of}"
    elif objective == "time":
        return f"the least time of {of}"
    else:
        text = f"the fewest servers within {percent(within)} of the least time of {of}"
    if fastest is best:
        return f"{text}; none is faster"
    time = format_quantity(fastest.time, "time", DIGITS)
    mesh = f" as {schema_text(fastest)}" if fastest.mesh else ""
    less = percent(1 - fastest.time / best.time)
    return (
        f"{text}; the fastest, {counted(fastest.servers, 'server')}{mesh}, takes {time}, {less} "
        "less"
    )


def _of_schema(best: ServerPlan, worst: ServerPlan) -> Iterator[str]:
    """Say what other schemas of as many servers take, and why."""
    if best.is_aligned:
        yield "aligned: each client block is sent whole, without packing"
    longer = worst.time / best.time - 1
    if longer < NOTICED:
        yield (
            f"the schema matters little: the slowest, {schema_text(worst)}, takes "
            f"{percent(max(longer, 0.0))} longer"
        )
        return
    more = []
    if worst.overlapping[1] > best.overlapping[1]:
        clients = f"{range_text(worst.overlapping)} clients"
        more.append(f"a subchunk overlaps {clients} instead of {range_text(best.overlapping)}")
    if worst.messages[1] > best.messages[1]:
        messages = f"{range_text(worst.messages)} messages"
        more.append(f"a server has {messages} instead of {range_text(best.messages)}")
    why = f": {', '.join(more)}" if more else ""
    yield f"with {schema_text(worst)} the same servers take {percent(longer)} longer{why}"


def near_counts(plans: Sequence[ServerPlan], best: ServerPlan) -> list[str]:
    """Say what the next numbers of servers take."""
    first = _fastest_of_each(plans)
    counts = sorted(first)
    at = counts.index(best.servers)
    near = (first[counts[i]] for i in (at - 1, at + 1) if 0 <= i < len(counts))
    return [f"{counted(other.servers, 'server')}: {_compared(other, best)}" for other in near]


def _fastest_of_each(plans: Sequence[ServerPlan]) -> dict[int, ServerPlan]:
    """Fastest plan of each number of servers."""
    first: dict[int, ServerPlan] = {}
    for plan in sorted(plans, key=lambda plan: plan.time):
        first.setdefault(plan.servers, plan)
    return first


def _more_servers(plans: Sequence[ServerPlan], best: ServerPlan) -> Iterator[str]:
    """Say that more servers may be faster, where the time still falls."""
    first = _fastest_of_each(plans)
    *fewer, most = sorted(first)
    if best.servers == most and fewer and best.time < first[fewer[-1]].time * (1 - NOTICED):
        yield f"more than {best.servers} servers may be faster, and were not evaluated"


def _compared(other: ServerPlan, best: ServerPlan) -> str:
    """Say how much longer another plan takes."""
    time = format_quantity(other.time, "time", DIGITS)
    difference = other.time / best.time - 1
    if abs(difference) < NOTICED:
        return f"{time}, as long"
    return f"{time}, {percent(abs(difference))} {'longer' if difference > 0 else 'shorter'}"


def _share(value: float) -> str:
    """Write a share: 99.9%, not 100%."""
    return f"{100 * value:.3g}%"
