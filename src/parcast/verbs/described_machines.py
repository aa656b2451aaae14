"""What descriptions of machines say of the machines that some runs name."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parcast.errors import ParameterError

if TYPE_CHECKING:
    from parcast.machine import Machine

NAMED = 4  # machines named in one sentence


def figures_of(
    machines: Sequence["Machine"], named: Sequence[str], *, is_target_named: bool
) -> dict[str, dict[str, float]]:
    """Figures of described machines that do not depend on anything, by the name of the machine.

    Parameters
    ----------
    machines : sequence of Machine
    named : sequence of str
        Machines that the runs name. One description that is of none of them is that of the
        target, if its runs name no machine: it is called "".

    is_target_named : bool
        Whether the runs of the target name their machine.

    Raises
    ------
    ParameterError
        If a machine is described twice, or descriptions are of no machine of the runs.
    """
    found: dict[str, dict[str, float]] = {}
    strangers = []
    for machine in machines:
        figures = {
            name: float(amount({}))
            for name, amount in machine.parameters().items()
            if not amount.expression.axes and float(amount({})) > 0
        }
        name = machine.name
        if name in found:
            raise ParameterError(f"machines must be described once each, got {name!r:.60} twice.")
        if name not in named:
            strangers.append(name)
        found[name] = figures
    if len(strangers) > (0 if is_target_named else 1):
        raise ParameterError(
            f"machines must be those of the runs, got {listed(strangers)}. "
            f"The runs name {listed(list(dict.fromkeys(named)))}: call them so."
        )
    if strangers:
        found[""] = found.pop(strangers[0])
    return found


def listed(names: Sequence[str]) -> str:
    """Write names one after another, the first of them where there are many."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
