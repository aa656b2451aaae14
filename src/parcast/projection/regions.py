"""Times of a program of regions on a machine where it was run once, from those on a base machine.

    T_target(P) = kappa * sum T_loop,base(P) + sum T_comm,target(P) + sum T_file,target(P)
    kappa       = (T_run(P0) - what it sends and writes there) / sum T_loop,base(P0)

with one run on the target at the fewest processors P0, best 1, where nothing is sent; without a
run kappa is `compute.rate` of the base over that of the target. Loops are scaled and communication
is computed for the target [S in words] [1]_; files are computed for it too [D]. Their times on the
base follow from the law of regions, so that no table of runs there is needed: iterations whose
time was measured on the base, or operations with its `compute.rate`.

The interval combines, on the log scale, the +- of the descriptions, which is sampled so that what
loops have in common at P0 and P cancels; two runs that were not repeated; the change of the ratio
with p, as `parcast.projection.project` has it for whole times; and the error of what is computed
for the target, that measured for what ranks send by themselves in counted programs [D].

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, sections on projection.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import Point
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.importers.registry import as_measurements
from parcast.laws.allowances import OWN
from parcast.laws.regions import RegionsPhase
from parcast.prediction.notes import warnings_of
from parcast.prediction.predict import lognormal_factors
from parcast.projection.project import (
    UNREPEATED_RATIO,
    Ratio,
    moved_half_width,
    of_ratio,
    projected,
    ratio_of_rates,
    require_one_of_each,
    time_computing,
)
from parcast.projection.result import Projection
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import Measurements, MeasurementsLike

SAMPLES: Final = 1024  # of uncertain amounts: ends good to a few percent [D]


def project_regions(
    program: Program,
    target: Machine,
    p: Array,
    *,
    base: Machine,
    known: MeasurementsLike | None = None,
    n: float | None = None,
) -> Projection:
    """Times at `p` processors of a target machine; arguments as of `parcast.project`."""
    run = None if known is None else _known_run(as_measurements(known), n)
    axes = {} if run is None else {axis: x for axis, x in run.at.items() if axis != "p"}
    axes |= {} if n is None else {"n": n}
    _require_axes(program, axes)
    regions = _Regions.of(program, base, target)
    kappa = _ratio(regions, run)
    point = {"p": p, **axes}
    scaled = np.broadcast_to(kappa.value * regions.loops(point), p.shape)
    communication, io = (np.broadcast_to(x, p.shape) for x in regions.others(point))
    time = scaled + communication + io
    share = scaled / time
    reach = np.log(p / kappa.at)
    widths = {
        "+- of the descriptions": _spread(regions, run, point),
        "ratio": share * (0.0 if run is None else kappa.half_width),  # of rates it is sampled
        "ratio moves with p": share * moved_half_width(reach, kappa.value),
        "error of what is computed for the target": (1.0 - share) * OWN,
    }
    grid = {axis: np.atleast_1d(np.asarray(x)) for axis, x in point.items()}
    return projected(
        p,
        time,
        kappa,
        widths,
        scaled=scaled,
        communication=communication,
        io=io,
        base=base.name,
        target=target.name,
        axes=axes,
        program=program.name,
        warnings=(
            *warnings_of(program, target, grid),
            *of_ratio(kappa, target),
            *_elsewhere(run, axes),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """One run on the target."""

    at: dict[str, float]
    time: float  # median of its repetitions [s]

    @property
    def place(self) -> str:
        """Where it was run, in words."""
        return ", ".join(f"{axis} = {x:g}" for axis, x in self.at.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Regions:
    """Regions by the machine that their time is taken from."""

    scaled: Program  # loops alone
    priced: Program  # all other regions
    base: Machine
    target: Machine

    @classmethod
    def of(cls, program: Program, base: Machine, target: Machine) -> "_Regions":
        """Divide the regions of a program."""
        phases = [phase for phase in program.phase if isinstance(phase, RegionsPhase)]
        loops, others = (
            program.model_copy(update={"phase": tuple(x.only(parts) for x in phases)})
            for parts in (("compute",), ("communication", "io"))
        )
        return cls(scaled=loops, priced=others, base=base, target=target)

    def loops(self, at: Point) -> Array:
        """Time of the loops on the base [s]."""
        return self.scaled.times(self.base, at).compute

    def others(self, at: Point) -> tuple[Array, Array]:
        """Time of communication and of files on the target [s]."""
        times = self.priced.times(self.target, at)
        return times.communication, times.io

    def factors(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Factors of uncertain amounts for the base and for the target, (samples, 1)."""
        own = [self.base.parameters(), self.target.parameters()]
        program = self.scaled.parameters() | self.priced.parameters()
        drawn = lognormal_factors(
            {
                f"{i} {name}": x
                for i, amounts in enumerate([*own, program])
                for name, x in amounts.items()
                if x.spread > 0
            },
            SAMPLES,
            seed=0,
        )
        by_number: list[dict[str, Array]] = [{}, {}, {}]
        for numbered, factor in drawn.items():
            i, _, name = numbered.partition(" ")
            by_number[int(i)][f"{name}*"] = factor[:, None]
        of_base, of_target, of_program = by_number
        return of_program | of_base, of_program | of_target


def _ratio(regions: _Regions, run: _Run | None) -> Ratio:
    """Find kappa, from the run or from the rates of the processors."""
    if run is None:
        return ratio_of_rates(regions.base, regions.target)
    at = {axis: np.array([x]) for axis, x in run.at.items()}
    here, sent = float(np.squeeze(regions.loops(at))), float(np.squeeze(sum(regions.others(at))))
    if here <= 0:
        raise ParameterError(
            "program",
            must=f"have loops that take time on {regions.base.name}",
            got=f"{here:g} s at {run.place}",
            hint="Describe what it computes.",
        )
    left = time_computing(run.time, sent, regions.target, run.place)
    words = f"one run at {run.place} on {regions.target.name}"
    half_width = float(np.hypot(UNREPEATED_RATIO, OWN * sent / left))
    return Ratio(left / here, half_width, run.at["p"], words)


def _spread(regions: _Regions, run: _Run | None, point: Point) -> Array:
    """Half-width of log time from the +- of the descriptions, those of kappa among them."""
    for_base, for_target = regions.factors()
    if not for_base | for_target:
        return np.zeros(np.shape(point["p"]))
    if run is None:
        one = {"p": np.ones(())}
        rates = [
            machine.need("compute.rate", {**one, **drawn}, why="the ratio")
            for machine, drawn in ((regions.base, for_base), (regions.target, for_target))
        ]
        kappa = rates[0] / rates[1]
    else:
        sent = sum(regions.others({**run.at, **for_target}))
        kappa = np.maximum(run.time - sent, 0.0) / regions.loops({**run.at, **for_base})
    times = kappa * regions.loops({**point, **for_base})
    times = times + sum(regions.others({**point, **for_target}))
    lower, upper = np.quantile(times, [0.05, 0.95], axis=0)
    return np.broadcast_to(np.log(upper / lower) / 2.0, np.shape(point["p"]))


def _known_run(known: Measurements, n: float | None) -> _Run:
    """Give the run at the smallest count, of several sizes the one nearest to `n`, or at `n`."""
    require_times_of_runs("known", known.measure)
    runs = known.select(p=float(known.p.min()))
    if n is not None and "n" in runs.axes:
        sizes = np.unique(runs.axes["n"])
        runs = runs.select(n=float(sizes[np.argmin(np.abs(np.log(sizes / n)))]))
    require_one_of_each(runs, what="known")
    at = {axis: float(column[0]) for axis, column in runs.axes.items()}
    if n is not None:
        at.setdefault("n", n)
    return _Run({"p": at.pop("p"), **at}, float(np.median(runs.time)))


def _elsewhere(run: _Run | None, axes: Mapping[str, float]) -> Iterator[str]:
    """Say that the ratio is known at another size, where it is."""
    if run is not None and any(x != run.at.get(axis, x) for axis, x in axes.items()):
        there = ", ".join(f"{axis} = {x:g}" for axis, x in axes.items())
        yield (
            f"The ratio is known at {run.place} and assumed to be the same at {there}: run that "
            "size where iterations may fit a cache at one size only."
        )


def _require_axes(program: Program, axes: Mapping[str, float]) -> None:
    """Refuse a program whose formulas use what is not given."""
    for axis in sorted(program.axes() - axes.keys() - {"p", "d"}):
        raise ParameterError(
            axis,
            must="be given, as formulas of the program use it",
            hint="Give the problem size." if axis == "n" else "Add its column to the known run.",
        )
