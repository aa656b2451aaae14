"""First guesses of the capacities W, u and B that a law needs and a description does not give.

    W = steps / T  of the fewest processors,   u, B = 100 * most bytes / T of all runs     [D]

and what was done over its part of the time, where that has a column. A fit needs a place to begin
at, no more: it goes far from there where the runs ask for it. A program to which its capacities
are given, or whose machine gives them, keeps these. Half sizes and startups, which no law needs,
are guessed where they are to be fitted: a tenth of a time.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase, Program
from parcast.errors import ParameterError
from parcast.fitting.capacity_sums import NAMES, counts_of_runs, timed_runs
from parcast.fitting.model import usual_names
from parcast.fitting.result import FittedParameter
from parcast.laws.counting import SMALL_SIZES, SteadyStatePhase
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measurements import Measurements
from parcast.units import Dimension, format_quantity

RATES: Final[Mapping[str, tuple[Dimension, tuple[str, ...]]]] = {  # and where machines have them
    "compute": ("operation_rate", ("compute.rate",)),
    "network": ("rate", ("network.saturation", "network.bandwidth")),
    "disk": ("rate", ("storage.bandwidth",)),
}
COLUMNS: Final = {"compute": "compute_s", "network": "communication_s", "disk": "disk_s"}
EXAMPLES: Final = {"compute": "100 Mflop/s", "network": "100 MB/s", "disk": "100 MB/s"}
LITTLE: Final = 100.0  # time of a run over that of its bytes, at first
SMALL: Final = 0.1  # of a time: what weighs on small sizes, and a startup, at first
TERMS_OF_N: Final = ("half_size", "disk_startup")  # that a fit looks for
STARTUPS: Final = ("latency", "disk_startup")
DIGITS: Final = 2


def with_guesses(
    program: Program,
    machine: Machine,
    runs: Measurements,
    *,
    free: Collection[str] | None,
    fixed: Collection[str] = (),
) -> tuple[Program, dict[str, str]]:
    """Program with first guesses of the capacities that its laws need, and their texts by name.

    What the machine gives is kept, unless the program would leave nothing to fit.
    """
    has_own = bool(usual_names(program))
    phases: list[Phase] = []
    guesses: dict[str, str] = {}
    for i, phase in enumerate(program.phase):
        before = f"{label}.capacities." if (label := program.label(i)) else "capacities."
        texts = {}
        for key, text in _lacking(phase, runs):
            name = before + key
            is_fitted = name not in fixed and (free is None or name in free)
            if is_fitted and not (_has(machine, key) and free is None and has_own):
                texts[key] = guesses[name] = text
            elif not _has(machine, key):
                raise ParameterError(
                    name,
                    must="be described, as it is not fitted",
                    hint=f'Write it in the phase, such as capacities = {{ {key} = "{EXAMPLES[key]}'
                    '" }.',
                )
        for key, text in _small(phase, runs, before, free or ()):
            texts[key] = guesses[before + key] = text
        phases.append(_with_capacities(phase, texts))
    if not guesses:
        return program, {}
    return program.model_copy(update={"phase": tuple(phases)}), guesses


def with_terms_of_n(program: Program, runs: Measurements) -> tuple[Program, dict[str, str]]:
    """Program with first guesses of the terms of its laws that it leaves out, and their texts."""
    phases: list[Phase] = []
    guesses: dict[str, str] = {}
    for i, phase in enumerate(program.phase):
        before = f"{label}.capacities." if (label := program.label(i)) else "capacities."
        texts = dict(_small(phase, runs, before, [before + key for key in TERMS_OF_N]))
        guesses |= {before + key: text for key, text in texts.items()}
        phases.append(_with_capacities(phase, texts))
    return program.model_copy(update={"phase": tuple(phases)}), guesses


def guesses_in_words(guesses: Mapping[str, str]) -> Iterator[str]:
    """Say what was guessed, where anything was."""
    if guesses:
        texts = ", ".join(f"{name} = {text}" for name, text in guesses.items())
        yield RankedWarning(
            f"Not described, so the fit started from estimates based on the runs: {texts}.",
            rank=Rank.MINOR,
        )


def without_guesses(
    parameters: Iterable[FittedParameter], guesses: Mapping[str, str]
) -> tuple[FittedParameter, ...]:
    """Parameters of which those that were guessed are not said to be described."""
    return tuple(replace(x, described="") if x.name in guesses else x for x in parameters)


def _has(machine: Machine, key: str) -> bool:
    """Whether a machine gives a capacity."""
    given = machine.parameters()
    return any(name in given for name in RATES[key][1])


def _with_capacities(phase: Phase, texts: Mapping[str, str]) -> Phase:
    """Give a phase with capacities beside those it has."""
    if not texts:
        return phase
    keys: dict[str, Any] = phase.model_dump(exclude_none=True)
    keys["capacities"] |= texts
    return type(phase)(**keys)


def _small(
    phase: Phase, runs: Measurements, before: str, wanted: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Guess what weighs on small sizes, and startups, where they are wanted and not described."""
    if not isinstance(phase, SteadyStatePhase):
        return
    lacking = [key for key in STARTUPS if getattr(phase.capacities, key) is None]
    for key in [key for key in lacking if before + key in wanted]:
        yield key, format_quantity(SMALL * float(runs.time.min()), "time", DIGITS)
    for key, small in SMALL_SIZES.items():
        if before + key in wanted and getattr(phase.capacities, key) is None:
            at = timed_runs(runs).axes
            n, p = np.asarray(phase.size(at), dtype=np.float64), at["p"]
            share = SMALL / np.median(small.weight(n, p))
            yield key, format_quantity(float(share) ** (1.0 / small.power), "count", DIGITS)


def _lacking(phase: Phase, runs: Measurements) -> Iterator[tuple[str, str]]:
    """Guess each capacity that a phase needs and does not give."""
    if not isinstance(phase, SteadyStatePhase):
        return
    lacking = [key for key in RATES if getattr(phase.capacities, key) is None]
    if not lacking:
        return
    try:
        timed = timed_runs(runs)
        counts = counts_of_runs(phase, timed)
    except ParameterError:
        return  # the fit itself says what is wrong with these runs
    for key in lacking:
        amount, seconds = counts[:, NAMES.index(key)], timed.parts.get(COLUMNS[key], timed.time)
        is_own = COLUMNS[key] in timed.parts
        known = seconds > 0
        rates = amount[known] / seconds[known]
        rate = _rate(key, rates, timed.axes["p"][known], is_own=is_own) if known.any() else 0.0
        if rate > 0:
            yield key, format_quantity(rate, RATES[key][0], DIGITS)


def _rate(key: str, rates: Array, p: Array, *, is_own: bool) -> float:
    """Guess a capacity from what each run did in a second; 0 if nothing was done.

    `is_own`: in a second of this part of its time.
    """
    if is_own:
        return float(np.median(rates[rates > 0])) if (rates > 0).any() else 0.0
    if key != "compute":
        return LITTLE * float(rates.max())
    did = rates > 0
    return float(np.median(rates[did & (p == p[did].min())])) if did.any() else 0.0
