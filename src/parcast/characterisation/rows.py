"""The regions of a characterised program: as a `regions` phase in TOML, and as rows of a table.

A row has the share of a region in the time, and the residual of the model; the TOML has above it
what it is based on.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parcast.aliases import Array
from parcast.characterisation.loops import LEAST_SPREAD, DescribedLoop
from parcast.characterisation.result import CharacterisedRegion
from parcast.characterisation.runs import RegionRuns, RunsOfProgram
from parcast.descriptions.amount import WIDEST
from parcast.descriptions.machine import Machine
from parcast.errors import ParameterError
from parcast.laws.count_formulas import CountFormula
from parcast.laws.regions import Region
from parcast.timings.profile import LOOP_KINDS
from parcast.units import format_quantity, in_percent


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """A region that communicates or accesses files, as the program file has it."""

    name: str
    kind: str  # as a program file has it
    calls: CountFormula
    volume: CountFormula | None  # of one call [B]; None where no bytes go


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Rows:
    """What all rows of the table share."""

    gathered: RunsOfProgram
    clock: str  # of the loops
    machine: Machine | None  # of the runs
    rate: float | None  # its operations a second [1/s]

    def row(
        self, part: DescribedLoop | Called, region: RegionRuns, described: Region
    ) -> CharacterisedRegion:
        """One region of the program, of a complex loop one small region."""
        clock = self._clock(region)
        time, mean = region.most(clock), region.mean(clock)
        imbalance = np.divide(time, mean, out=np.ones_like(time), where=mean > 0)
        is_small = region.kind == "complex"
        own = part.time if isinstance(part, DescribedLoop) else time
        common: dict[str, Any] = {
            "name": part.name,
            "kind": part.kind,
            "share": self._share(part, region),
            "calls": part.calls.text,
            "residual": part.residual
            if isinstance(part, DescribedLoop) and is_small
            else self._residual(region, described, own),
            "imbalance": float(imbalance.max()),
        }
        if isinstance(part, DescribedLoop):
            return CharacterisedRegion(
                **common,
                iterations=part.iterations.text,
                iteration=str(described.iteration),
                volume=None,
                unit_time=self._unit_time(part),
                spread=part.spread,
                is_exact=part.calls.is_exact and part.iterations.is_exact,
                work=None if part.work is None else _work(part.work, part.kind),
            )
        return CharacterisedRegion(
            **common,
            iterations=None,
            iteration=None,
            volume=None if part.volume is None else part.volume.times("B"),
            unit_time=None,
            spread=0.0,
            is_exact=part.calls.is_exact and (part.volume is None or part.volume.is_exact),
        )

    def _clock(self, region: RegionRuns) -> str:
        """What times a region: only loops have processor time."""
        return self.clock if region.kind in LOOP_KINDS else "wall"

    def _share(self, part: DescribedLoop | Called, region: RegionRuns) -> float:
        """Share of a region, or of a part of it, in the wall time of the largest run.

        One clock for all: a processor time of loops would not add up with the wall time of calls.
        """
        run = self.gathered.largest
        together = sum(self._time_in(x, run) for x in self.gathered.regions)
        own = self._time_in(region, run)
        if isinstance(part, DescribedLoop) and own > 0:
            place = region.runs.index(run)
            of_region = float(region.most(self.clock)[place])
            own *= float(part.time[place]) / of_region if of_region > 0 else 1.0
        return own / together if together > 0 else 0.0

    def _time_in(self, region: RegionRuns, run: int) -> float:
        """Wall time of the slowest rank in a region in one run. [s]."""
        if run not in region.runs:
            return 0.0
        return float(region.most("wall")[region.runs.index(run)])

    def explained(self, region: RegionRuns, described: Region) -> float | None:
        """Time that the machine gives a region over that measured, in the largest run. [1].

        None of loops, and where no machine prices it or it took no time.
        """
        run = self.gathered.largest
        time = self._time_in(region, run)
        if described.is_loop or self.machine is None or time <= 0:
            return None
        model = self._modelled(region, described)
        return None if model is None else float(model[region.runs.index(run)]) / time

    def _unit_time(self, loop: DescribedLoop) -> float:
        """Time of an iteration as the program file has it, in the largest run. [s]."""
        run, sizes = self.gathered.largest, self.gathered.n
        return float(loop.iteration(self.gathered.p[run], 1.0 if sizes is None else sizes[run]))

    def _residual(self, region: RegionRuns, described: Region, time: Array) -> float | None:
        """Root mean square of model / measured - 1; None where the machine does not price it."""
        if not described.is_loop and self.machine is None:
            return None
        model = self._modelled(region, described)
        if model is None:
            return None
        ok = (time > 0) & (model > 0)
        return float(np.sqrt(np.mean((model[ok] / time[ok] - 1) ** 2))) if ok.any() else None

    def _modelled(self, region: RegionRuns, described: Region) -> Array | None:
        """Time of a region in each run; None where the machine does not price it. [s]."""
        at = {"p": region.p, **({} if region.n is None else {"n": region.n})}
        known = self._bare() if self.machine is None else self.machine
        try:
            return np.broadcast_to(described.time(known, at), region.p.shape)
        except ParameterError:
            return None

    def _bare(self) -> Machine:
        """Give a machine that knows no more than a rate."""
        keys: dict[str, Any] = {}
        if self.rate is not None:
            keys = {"compute": {"rate": f"{self.rate!r} flop/s"}}
        return Machine(**keys)


def keys_of_loop(loop: DescribedLoop, rate: float | None) -> dict[str, str]:
    """Keys of a loop in a program file; with a `rate` [1/s] iterations become operations."""
    unit = "s" if rate is None else "flop"
    text = _scaled(loop.iteration, 1.0 if rate is None else rate, unit)
    if loop.spread >= LEAST_SPREAD:
        text += f" +- {in_percent(loop.spread)}%"
    keys = {"name": loop.name, "kind": loop.kind}
    if loop.calls.text != "1":
        keys["calls"] = loop.calls.text
    return {**keys, "iterations": _counted(loop.iterations), "iteration": text}


def keys_of_called(called: Called) -> dict[str, str]:
    """Keys of a region that is no loop in a program file."""
    keys = {"name": called.name, "kind": called.kind, "calls": _counted(called.calls)}
    if called.volume is not None:
        keys["volume"] = _counted(called.volume, "B")
    return keys


def _work(work: CountFormula, kind: str) -> str:
    """Text of the time of work without iterations, of a loop divided by p."""
    text = _scaled(work, 1.0, "s")
    if kind != "loop":
        return text
    return f"({text})/p" if " + " in text else f"{text}/p"


def _counted(formula: CountFormula, unit: str = "") -> str:
    """Text of a count, with +- where no formula meets what was counted."""
    text = formula.times(unit) if unit else formula.text
    return (
        text
        if formula.error < LEAST_SPREAD
        else f"{text} +- {in_percent(min(formula.error, WIDEST))}%"
    )


def program_text(
    name: str,
    source: str,
    remarks: Sequence[str],
    regions: Sequence[Mapping[str, str]],
    *,
    measured_on: str = "",
) -> str:
    r"""Text of a program file."""
    lines = [f"# {remark}" for remark in remarks]
    lines += [f"name = {_quoted(name)}", f"source = {_quoted(source)}"]
    lines += ["", "[[phase]]", 'law = "regions"']
    lines += [f"measured_on = {_quoted(measured_on)}"] if measured_on else []
    for region in regions:
        lines += ["", "[[phase.region]]", *(f"{k} = {_quoted(x)}" for k, x in region.items())]
    return "\n".join(lines) + "\n"


def _scaled(formula: CountFormula, factor: float, unit: str) -> str:
    """Text of a time or of operations; a plain one in the unit that reads best."""
    scaled = formula.scaled(factor)
    constant = scaled.constant
    if constant is not None:
        return format_quantity(constant, "time" if unit == "s" else "operations", 6)
    return scaled.times(unit)


def _quoted(text: str) -> str:
    """Write text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
