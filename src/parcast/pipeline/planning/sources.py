"""Where the costs of a pipeline come from: numbers, a program file or the trace of a run."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Final

from parcast.descriptions.amount import Amount
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, doubts_of
from parcast.descriptions.toml_files import as_machine, as_program
from parcast.errors import ParameterError, require, require_one_of
from parcast.pipeline.law.phase import PipelinePhase
from parcast.pipeline.planning.costs import GROWTHS, ReductionCosts, checked_growth
from parcast.pipeline.planning.from_trace import Clock, TracedCosts, measured_costs
from parcast.pipeline.planning.result import Schedule
from parcast.pipeline.traces.trace import Trace, read_trace
from parcast.words import rounded

TRACES: Final = (".jsonl", ".jsonl.gz", ".gz")
FAR: Final = 10.0  # times the largest result of a trace, from which growth is a guess
OF_PHASE: Final = ("task", "merge", "message", "fetch", "overhead", "startup", "communication")


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownCosts:
    """Costs, and where they come from."""

    costs: ReductionCosts
    schedule: Schedule
    origins: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    inputs: dict[str, Any] = field(default_factory=dict)
    measured: int | None = None  # cores of the traced run [1]


def costs_of(
    source: Any, machine: Any, *, n: float | None, clock: Clock | None, **given: Any
) -> KnownCosts:
    """Take the costs of a program or a trace, or none, and what is given in their place."""
    costs: dict[str, Any] = {"shares_channel": True}  # unless pipelines are said to have their own
    origins, warnings = list[str](), list[str]()
    descriptions: list[Program | Machine] = []
    inputs: dict[str, Any] = {}
    schedule: Schedule = "adaptive"
    measured: TracedCosts | None = None
    if clock is not None:
        require_one_of("clock", clock, ("wall", "processor"))
    described = None if machine is None else as_machine(machine)
    if isinstance(source, Trace) or (
        isinstance(source, str | PathLike) and fspath(source).lower().endswith(TRACES)
    ):
        trace = source if isinstance(source, Trace) else read_trace(source)
        measured = measured_costs(trace, clock)
        costs |= measured.costs
        origins, warnings = [*measured.origins], [*measured.warnings]
        inputs["trace"] = {"file": trace.path}
    elif source is not None:
        program = as_program(source)
        descriptions.append(program)
        costs, schedule = _of_program(program, n)
        origins.append(f"program {program.name}" if program.name else "program file")
    if described is not None:
        descriptions.append(described)
        costs |= _of_machine(described)
        origins.append(f"network of {described.name}" if described.name else "machine file")
    own = {name: value for name, value in given.items() if value is not None}
    if (growth := own.pop("growth", None)) is not None:
        own |= dict.fromkeys(GROWTHS, checked_growth("growth", growth))
    if (channel := own.pop("channel", None)) is not None:
        require_one_of("channel", channel, ("own", "shared"))
        own["shares_channel"] = channel == "shared"
    schedule = own.pop("schedule", schedule)
    require_one_of("schedule", schedule, ("adaptive", "source"))
    spreads = {x: y for x, y in costs.pop("spreads", {}).items() if x not in own}
    if {"bandwidth", "latency"} & own.keys():  # instead of the measured time of a message
        costs.pop("communication", None)
    for name, hint in (
        ("items", "Give the number of items."),
        ("task", 'Give the time of one, such as "5 ms", or the trace of a small run.'),
    ):
        if name not in own and name not in costs:
            raise ParameterError(name, must="be given", hint=hint)
    final = ReductionCosts.of(**{**costs, **own, "spreads": spreads})
    if measured is not None and "merge_growth" not in own:
        warnings += _extrapolated(final.items, measured.largest)
    return KnownCosts(
        costs=final,
        schedule=schedule,
        origins=tuple(origins),
        warnings=(*doubts_of(*descriptions), *warnings),
        inputs=inputs,
        measured=None if measured is None else measured.cores,
    )


def _extrapolated(items: int, largest: int) -> Iterator[str]:
    if largest and items > FAR * largest:
        yield (
            f"The results of the traced run have up to {largest:,} items, the planned ones "
            f"{items:,}: their growth is extrapolated {rounded(items / largest, 2)} times. "
            "Trace more items."
        )


def _of_program(program: Program, n: float | None) -> tuple[dict[str, Any], Schedule]:
    """Costs of the pipeline of a program, and its schedule."""
    phases = [phase for phase in program.phase if isinstance(phase, PipelinePhase)]
    if len(phases) != 1:
        raise ParameterError(
            "source",
            must='have one phase with law = "pipeline"',
            got=f"{len(phases)} of {len(program.phase)} phases",
            hint="Plan each pipeline in a program file of its own.",
        )
    [phase] = phases
    at = {} if n is None else {"n": n}
    costs: dict[str, Any] = {"prefetch": phase.prefetch}
    costs["shares_channel"] = phase.channel == "shared"
    spreads: dict[str, float] = {}
    for name in (*OF_PHASE, "cores", "items"):
        amount = getattr(phase, name)
        if amount is None:
            continue
        if name == "items" and n is None and "n" in amount.expression.axes:
            continue  # it may be given itself
        value = _value(amount, at)
        costs[name] = round(value) if name in {"cores", "items"} else value
        spreads[name] = amount.spread
    own = [name for name in ("cores", "items") if name in spreads]
    costs["spreads"] = {name: x for name, x in spreads.items() if x > 0 and name not in own}
    return costs, "adaptive" if phase.form == "adaptive" else "source"


def _of_machine(machine: Machine) -> dict[str, Any]:
    network = machine.network
    known = {"bandwidth": network.bandwidth, "latency": network.latency}
    costs = {name: _value(amount, {}) for name, amount in known.items() if amount is not None}
    require(
        "machine",
        len(costs),
        bool(costs),
        must="have network.bandwidth or network.latency",
        hint="A pipeline uses nothing else of a machine.",
    )
    return costs


def _value(amount: Amount, at: dict[str, float]) -> float:
    """Value of an amount, which must not depend on the processors."""
    if missing := sorted(amount.expression.axes - at.keys()):
        hint = "Give it with n." if missing == ["n"] else "Give its value in place of the formula."
        raise ParameterError(
            amount.name,
            must="be one value for all plans",
            got=f"a formula of {', '.join(missing)}",
            hint=hint,
        )
    return float(amount(at))
