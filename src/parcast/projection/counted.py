"""Times of a counted program on a machine, from a run on few processors and from other machines.

    pace  = (T(p0) - what it sends at p0) / computing of the busiest at p0                   [D]

with the run at the fewest processors p0, at best 1, where nothing is sent. What such a time leaves
out, dependent messages and messages sent while computing, stretches or shortens what is sent, so
its error grows with the share of the time that sending takes [D]:

    half-width^2 = COMPUTE^2 + (OWN * own / T)^2 + (SHARED * shared / T)^2
                   + (o * (BEYOND + BEYOND_SENT * (own + shared) / T))^2

own is what each rank waits for by itself (startups, bytes at the rate of a pair, collectives),
shared what the network shared by all adds, and o the octaves that counts are extrapolated by.

A run on another machine, the donor, shows this error there, log(measured / modelled). It is taken
over as far as the same things take the time here [D]; of several donors each counts by its
likeness to this machine:

    log T = log T_model + k * log(T_donor / T_model,donor)
    k     = sum over parts of min(share here, share on the donor) / sum of shares on the donor

with shares of the time by startups, bytes of pairs, bytes shared and collectives. So a donor
whose network is a bus does not correct a machine whose time is latency. Nothing in k is fitted.
The study behind the constants is in ``docs/explanation/counted-programs.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.advice import PREDICT
from parcast.aliases import Array
from parcast.descriptions.amount import Amount
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.importers.registry import as_measurements
from parcast.laws.allowances import COMPUTE
from parcast.laws.counted import CountedCosts, CountedPhase
from parcast.prediction.notes import beyond_machine, without_nodes
from parcast.prediction.predict import predict
from parcast.projection.project import require_one_of_each
from parcast.projection.result import PARTS, CountedProjection
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import MeasurementsLike
from parcast.units import percent, shown

TOLD: Final = 0.25  # share of the variance that a donor like this machine removes
ByDonor = dict[str, tuple[Array, Array]]  # by donor: correction of log time, and likeness [1]
LIKE: Final = 0.05  # likeness from which a donor is said to have had a say [D]
TINY: Final = 1e-300  # against division by nothing
ABSURD: Final = 1e3  # pace, or its inverse, that only a wrong unit explains [D]


def project_counts(
    program: Program,
    machine: Machine,
    p: ArrayLike,
    *,
    known: MeasurementsLike | None = None,
    donors: MeasurementsLike | None = None,
    donor_machines: Sequence[Machine] = (),
) -> CountedProjection:
    """Times of a program with one phase of law "counted"; arguments as of `parcast.project`."""
    phase = phase_of(program)
    counts = np.atleast_1d(np.asarray(p, dtype=np.float64))
    pace_from = "the description"
    if known is not None:
        pace, at = _pace(phase, machine, _medians(known, what="known"), what="known")
        phase, pace_from = _paced(phase, pace), f"a run at p = {at:g}"
    costs = _costs(phase, machine, counts)
    by_donor = _corrections(phase, donors, donor_machines, costs, counts)
    correction, like = _together(by_donor, counts)
    total = np.maximum(sum((x for _, x in by_donor.values()), start=np.zeros(counts.shape)), TINY)
    width = donated_half_width(costs.half_width, like)
    width = np.hypot(width, _spread(program, phase, machine, counts))
    time = costs.time * np.exp(correction)
    return CountedProjection(
        p=counts,
        time=time,
        lower=time * np.exp(-width),
        upper=time * np.exp(width),
        parts={name: getattr(costs, name) for name in PARTS},
        factor=np.exp(correction),
        pace=float(phase.pace({"p": np.ones(())})),
        pace_from=pace_from,
        donors={name: likeness / total for name, (_, likeness) in by_donor.items()},
        program=program.name,
        machine=machine.name,
        warnings=tuple(_warnings(phase, machine, counts, known=known, by_donor=by_donor)),
    )


def phase_of(program: Program) -> CountedPhase:
    """Only phase of a program, which must be of law "counted"."""
    if len(program.phase) != 1 or program.phase[0].law != "counted":
        laws = ", ".join(phase.law for phase in program.phase)
        raise ParameterError(
            "program",
            must='have one phase of law "counted", or phases of law "regions"',
            got=laws,
            hint=("Programs of other laws are predicted: ", PREDICT),
        )
    phase = program.phase[0]
    assert isinstance(phase, CountedPhase)
    return phase


def _medians(runs: MeasurementsLike, *, what: str) -> tuple[Array, Array]:
    """Give counts and medians of the times of runs, which must be the same in all else."""
    runs = as_measurements(runs)
    require_times_of_runs(what, runs.measure)
    require_one_of_each(runs, what=what)
    counts = np.unique(runs.p)
    return counts, np.array([float(np.median(runs.time[runs.p == x])) for x in counts])


def _paced(phase: CountedPhase, pace: float) -> CountedPhase:
    """Give the phase with another pace; its counts are not read again."""
    amount = Amount.of(pace, ["count"], name="pace")
    return phase.model_copy(update={"pace": amount})


def _pace(
    phase: CountedPhase, machine: Machine, runs: tuple[Array, Array], *, what: str
) -> tuple[float, float]:
    """Find the pace from the run at the fewest processors, and say at how many that was."""
    at, time = runs[0][:1], float(runs[1][0])
    costs = _costs(_paced(phase, 1.0), machine, at)
    sent = float(np.squeeze(costs.communication))
    busiest = float(np.squeeze(costs.compute + costs.imbalance))
    if time <= sent:
        raise ParameterError(
            what,
            must="take longer than what it sends",
            got=f"{time:.3g} s at p = {at[0]:g} on {machine.name}, where sending takes "
            f"{sent:.3g} s",
            hint="Give a run at p = 1.",
        )
    return (time - sent) / busiest, float(at[0])


def _costs(phase: CountedPhase, machine: Machine, counts: Array) -> CountedCosts:
    """Time of all cycles by what it is spent on, every part of the shape of the counts."""
    at = {"p": counts}
    costs, cycles = phase.costs(machine, at), phase.cycles(at)
    return replace(
        costs,
        **{name: np.broadcast_to(getattr(costs, name) * cycles, counts.shape) for name in PARTS},
    )


def _corrections(
    phase: CountedPhase,
    donors: MeasurementsLike | None,
    described: Sequence[Machine],
    here: CountedCosts,
    counts: Array,
) -> ByDonor:
    """Give what each donor says."""
    if donors is None:
        return {}
    runs = as_measurements(donors)
    names = runs.labels.get("machine")
    if names is None:
        raise ParameterError(
            "donors", must="have a column machine", hint="Name the machine of every run."
        )
    by_name = {machine.name: machine for machine in described}
    by_donor: ByDonor = {}
    for name in dict.fromkeys(names.tolist()):
        if name not in by_name:
            raise ParameterError(
                "donor_machines",
                must=f"include {shown(repr(name))}",
                got=", ".join(map(repr, by_name)) or "none",
                hint="Add a description with that name.",
            )
        of_donor = _medians(runs.select(machine=name), what="donors")
        by_donor[name] = _correction(phase, by_name[name], of_donor, here, counts)
    return by_donor


def _correction(
    phase: CountedPhase,
    machine: Machine,
    runs: tuple[Array, Array],
    here: CountedCosts,
    counts: Array,
) -> tuple[Array, Array]:
    """Correction of log time by one donor, and its likeness; none beyond its counts."""
    measured, times = runs
    if len(measured) < 2:
        raise ParameterError(
            "donors",
            must="have runs at two processor counts or more",
            got=f"one on {machine.name}",
            hint="Add runs at another p.",
        )
    pace, _ = _pace(phase, machine, runs, what="donors")
    own = _paced(phase, pace)
    error = np.log(times / _costs(own, machine, measured).time)
    carried, likeness = carried_over(here, _costs(own, machine, counts))
    inside = (counts >= measured[0]) & (counts <= measured[-1])
    error = np.interp(np.log(counts), np.log(measured), error)
    return np.where(inside, carried * error, 0.0), np.where(inside, likeness, 0.0)


def _together(by_donor: ByDonor, counts: Array) -> tuple[Array, Array]:
    """Correction of log time by all donors, each by its likeness, and the largest likeness."""
    if not by_donor:
        return np.zeros(counts.shape), np.zeros(counts.shape)
    corrections, likenesses = (np.array(x) for x in zip(*by_donor.values(), strict=True))
    share = likenesses / np.maximum(likenesses.sum(axis=0), TINY)
    return (share * corrections).sum(axis=0), likenesses.max(axis=0)


def _spread(program: Program, phase: CountedPhase, machine: Machine, counts: Array) -> Array:
    """Half-width of log time from the +- of the amounts, without their model's."""
    paced = program.model_copy(update={"phase": (phase,)})
    order = np.unique(counts)
    predicted = predict(paced, machine, p=order, bounds=False, law_error=False)
    if predicted.lower is None or predicted.upper is None:
        return np.zeros(counts.shape)
    return np.asarray(np.interp(counts, order, np.log(predicted.upper / predicted.lower) / 2.0))


def _warnings(
    phase: CountedPhase,
    machine: Machine,
    counts: Array,
    *,
    known: object,
    by_donor: ByDonor,
) -> Iterator[str]:
    """Give what a reader of the times must know."""
    measured = phase.counted.p
    beyond = counts[(counts > measured[-1]) | (counts < measured[0])]
    if len(beyond):
        yield RankedWarning(
            f"p = {', '.join(f'{x:g}' for x in beyond)} is outside the counted range "
            f"({measured[0]:g} to {measured[-1]:g}): the counts are extrapolated from the two "
            "nearest, for which the interval is wider. Count the program there.",
            rank=Rank.SERIOUS,
        )
    if known is None:
        yield RankedWarning(
            f"No run on {machine.name}: it is assumed to compute at "
            f"{percent(float(1.0 / phase.pace({'p': np.ones(())})))} of the speed of the machine "
            "where the program was counted. Give a run at p = 1.",
            rank=Rank.SERIOUS,
        )
    else:
        yield from _absurd(float(phase.pace({"p": np.ones(())})), machine)
    yield from beyond_machine(machine, counts)
    for name, (_, likeness) in by_donor.items():
        if not np.any(likeness > LIKE):
            yield (
                f"The donor {name} has no effect: its time is spent on other parts, or its runs "
                "are at other p."
            )
    yield from phase.warnings(machine)
    yield from without_nodes(phase, machine, {"p": counts})


def _absurd(pace: float, machine: Machine) -> Iterator[str]:
    """Warn of a pace that no two machines differ by."""
    if 1.0 / ABSURD <= pace <= ABSURD:
        return
    ratio, word = (1.0 / pace, "faster") if pace < 1.0 else (pace, "slower")
    yield RankedWarning(
        f"According to the known run, {machine.name} computes "
        f"{float(format(ratio, '.2g')):,.0f} times {word} than the machine where the program was "
        "counted: most likely a unit is wrong. Check the seconds of the run and of compute_s.",
        rank=Rank.UNUSABLE,
    )


def carried_over(here: CountedCosts, donor: CountedCosts) -> tuple[Array, Array]:
    """How much of the donor's error is taken over, k, and how like it is to this machine.

    k is 0 where nothing is sent; the likeness is shares in common over the larger sum of shares.
    """
    shares = [
        np.stack(
            np.broadcast_arrays(
                *(x / np.maximum(costs.time, TINY) for x in _sending(costs)),
            )
        )
        for costs in (here, donor)
    ]
    common = np.minimum(*shares).sum(axis=0)
    ours, theirs = (x.sum(axis=0) for x in shares)
    carried = np.where(theirs > 0, common / np.maximum(theirs, TINY), 0.0)
    most = np.maximum(ours, theirs)
    return carried, np.where(most > 0, common / np.maximum(most, TINY), 0.0)


def donated_half_width(model: Array, likeness: Array) -> Array:
    """Half-width of log time after a donor's error was taken over."""
    return np.asarray(np.maximum(model * np.sqrt(1.0 - TOLD * likeness**2), COMPUTE))


def _sending(costs: CountedCosts) -> tuple[Array, ...]:
    """Give the parts of what is sent."""
    return costs.startups, costs.pairs, costs.shared, costs.collectives
