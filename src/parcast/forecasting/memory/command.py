"""`parcast forecast --memory`: what it may be combined with, and its answer."""

from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, OPTIONS, spelled_with
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.screen import tell

if TYPE_CHECKING:
    from parcast.forecasting.memory.result import MemoryForecast
    from parcast.timings.measurements import Measurements

SPELLINGS: Final = OPTIONS | {
    "node_memory": "--node-memory",
    "ranks_per_node": "--ranks-per-node",
    "at": "--at",
    "n": "-n",
}


def check_memory(ctx: click.Context, *, is_asked: bool, others: dict[str, Any], node: Any) -> None:
    """Refuse options of times beside --memory, and those of nodes without it."""
    if not is_asked:
        if node != (None, None):
            raise click.UsageError(
                "--node-memory and --ranks-per-node require --memory. Add --memory.", ctx
            )
        return
    if given := [name for name, value in others.items() if value]:
        raise click.UsageError(
            f"--memory cannot be combined with {given[0]}, which is of times. Leave one out.", ctx
        )
    if (node[0] is None) != (node[1] is None):
        missing = "--ranks-per-node 128" if node[1] is None else "--node-memory 256GB"
        raise click.UsageError(
            f"--node-memory and --ranks-per-node go together. Add {missing}.", ctx
        )


def answer_memory(
    runs: "Measurements",
    p: list[int],
    outputs: Outputs,
    inputs: dict[str, Any],
    **asked: Any,
) -> int:
    """Forecast memory, give the answer, and say whether it fits."""
    from parcast.forecasting.memory.forecast_memory import forecast_memory, require_memory
    from parcast.forecasting.series.question import next_counts

    require_memory(runs)
    if not p:
        p = next_counts(runs)
        tell(
            f"no -p given: p = {' and '.join(map(str, p))}, the next two doublings of "
            "the largest measured count."
        )
    with spelled_with(SPELLINGS, click.UsageError):
        told: MemoryForecast = forecast_memory(runs, p, **asked)
    outputs.give(with_inputs(told, **inputs))
    is_no = any(not needed.fits for needed in told.nodes)
    return ANSWER_IS_NO if is_no else ANSWERED
