"""What a fit's coordinates mean: parameters, their intervals, and what is not determined."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.program import placeholders_of
from parcast.errors import Argument
from parcast.fitting.guesses import COLUMNS
from parcast.fitting.identifiability import (
    SMALL_PART,
    Direction,
    advice,
    candidate_runs,
    in_words,
    null_directions,
    precision_of,
    rank_of,
    trade_off,
    weak_directions,
)
from parcast.fitting.model import HOLD, RATES, Model, Parameter
from parcast.fitting.observed import names_of
from parcast.fitting.result import Fit, FittedParameter
from parcast.fitting.runs import Noise
from parcast.fitting.solver import FitTask
from parcast.fitting.written import AT_BOUND, LARGEST, as_written
from parcast.show.warning import Rank, RankedWarning
from parcast.units import Dimension, format_quantity, in_percent
from parcast.words import joined

OUT_OF_SIGHT: Final = 1e-2  # coordinate whose part in a sum is not seen
FEW_FREEDOM: Final = 2.0  # degrees of freedom of the runs
POOR: Final = 0.15  # noise that no run has
SAYS_LITTLE: Final = 0.9  # of the deviation of +-: what the runs must bring it below
WIDE: Final = 20.0  # times the value: an end of an interval that says little
SAYS: Final = 0.05  # of what is known of a constant: what a column must say to be named
FAR: Final = 1e3  # times the value: as good as no end


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _End:
    """Where a fit ended: its coordinates, and the model about them by logarithms of parameters."""

    task: FitTask
    noise: Noise
    coordinates: Array  # (parameters,)
    at_bound: NDArray[np.bool_]  # what is on a bound is not free
    by_log: Array  # derivative of each coordinate, (parameters,)
    relative: Array  # Jacobian of logarithms of times or speedups, (runs, parameters)
    rows: Array  # of what was fitted, over the noise; last that of the time alone, if it is held
    deviations: Array  # that +- says, infinite without

    @property
    def model(self) -> Model:
        """The model."""
        return self.task.model

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return [x.name for x in self.model.parameters]

    @property
    def in_sight(self) -> Array:
        """Coordinates, described ones in place of those that are as good as nothing."""
        out_of_sight = self.at_bound | (self.coordinates < OUT_OF_SIGHT)
        return np.where(out_of_sight, 1.0, self.coordinates)

    def away_from_bounds(self) -> Array:
        """Jacobian where nothing is on a bound, for what no value of the parameters can change."""
        inside = self.in_sight
        return np.asarray(self.task.logs(inside[None])[1][0] * inside)

    def scales(self) -> dict[str, tuple[Dimension, float | None]]:
        """Dimension and value of each parameter, None where it is a formula."""
        return {
            x.name: (x.amount.dimension, x.value and x.value * float(x.factor(seen)))
            for x, seen in zip(self.model.parameters, self.in_sight, strict=True)
        }


def findings(
    task: FitTask,
    noise: Noise,
    coordinates: Array,
    *,
    ends: tuple[Array, Array] | None,
    has_converged: bool,
    starts: int,
    reached: int,
) -> Fit:
    """Say what the coordinates mean that `reached` of the starts ended at, and their intervals."""
    model, runs, holds_scale = task.model, task.runs, task.scale is not None
    end = _end(task, noise, coordinates)
    directions, precision = _directions(end), precision_of(end.rows, end.deviations)
    fitted = [
        _fitted(end, i, ends=ends, directions=directions, precision=precision)
        for i in range(len(coordinates))
    ]
    candidates, candidate_rows = candidate_runs(model, coordinates)
    candidate_rows = candidate_rows * end.by_log / noise.level
    undetermined = [*directions, *_one_sided(fitted, directions, precision, end.relative)]
    scales = end.scales()
    named = {name for direction in undetermined for name in direction.names}
    written = as_written(
        task, noise, coordinates, fitted, undetermined=named, has_converged=has_converged
    )
    return Fit(
        parameters=written.parameters,
        program=written.program,
        machine=written.machine,
        axes=runs.axes,
        measured=1.0 / runs.measured if model.is_speedup else runs.measured,
        fitted=np.exp(-written.logs if model.is_speedup else written.logs),
        quantity="speedup" if model.is_speedup else "time",
        law_error=written.law_error,
        noise_of_columns=dict(zip(names_of(task.columns), noise.levels, strict=True)),
        noise=noise.level,
        freedom=noise.freedom,
        rank=rank_of(end.away_from_bounds()),
        singular_values=np.asarray(
            np.linalg.svd(end.relative, compute_uv=False), dtype=np.float64
        ),
        undetermined=tuple(in_words(x, end.names, scales, _why(x, model)) for x in undetermined),
        advice=(
            *_missing_columns([x.name for x in written.parameters if not x.is_determined], task),
            *advice(undetermined, precision, candidates, candidate_rows),
        ),
        warnings=tuple(
            chain(
                placeholders_of(written.program, written.machine),
                _warnings(fitted, noise, holds_scale=holds_scale, has_converged=has_converged),
            )
        ),
        has_converged=has_converged,
        holds_scale=holds_scale,
        starts=starts,
        reached=reached,
        law=model.program.law,
        sources=model.program.sources_of_law,
    )


def _missing_columns(names: Sequence[str], task: FitTask) -> Iterator[str]:
    """Name the columns that would determine capacities that are not determined."""
    if task.model.is_speedup:
        return
    known = {x.column for x in task.columns}
    own = {name: COLUMNS.get(name.rpartition("capacities.")[2], "") for name in names}
    wanted = {name: x for name, x in own.items() if x and x not in known and "capacities" in name}
    if wanted:
        columns = list(dict.fromkeys(wanted.values()))
        yield (
            f"The column{'s' if len(columns) > 1 else ''} {joined(columns)}, the seconds of "
            f"{'these parts' if len(columns) > 1 else 'this part'} of each time, would determine "
            f"{joined(list(wanted))}."
        )


def _end(task: FitTask, noise: Noise, coordinates: Array) -> _End:
    """Linearise the model where the fit ended."""
    model = task.model
    by_log = np.where([x.is_rate for x in model.parameters], -coordinates, coordinates)
    relative = model.logs(coordinates[None])[1][0] * by_log
    level = task.of_rows(noise.levels)[:, None]
    rows = task.logs(coordinates[None])[1][0] * by_log / level
    if task.scale is not None:
        held = model.logs_alone(coordinates[None])[1][0, :1] * by_log / (noise.level * HOLD)
        rows = np.vstack([rows, held])
    at_bound = [_is_at_bound(x, c) for x, c in zip(model.parameters, coordinates, strict=True)]
    return _End(
        task=task,
        noise=noise,
        coordinates=coordinates,
        at_bound=np.array(at_bound),
        by_log=by_log,
        relative=relative,
        rows=rows,
        deviations=np.array([x.sigma for x in model.parameters]),
    )


def _is_at_bound(parameter: Parameter, coordinate: float) -> bool:
    """Whether a coordinate is where it may go no further."""
    return coordinate < AT_BOUND or coordinate >= parameter.upper * (1.0 - AT_BOUND)


def _directions(end: _End) -> tuple[Direction, ...]:
    """Directions that are open by algebra, then those that are by these runs."""
    names = end.names
    signs = np.where([x.is_rate for x in end.model.parameters], -1.0, 1.0)
    jacobian = end.away_from_bounds() * signs
    if len(end.rows) > len(jacobian):  # the row that holds the time alone
        jacobian = np.vstack([jacobian, end.rows[-1:]])
    algebra = null_directions(jacobian, end.deviations, names)
    free = np.flatnonzero(~end.at_bound)
    weak = weak_directions(
        end.rows[:, free],
        end.relative[:, free],
        end.deviations[free],
        [names[i] for i in free],
    )
    named = {name for direction in algebra for name in direction.names}
    others = []
    for direction in weak:
        if not set(direction.names) & named:
            parts = np.zeros(len(names))
            parts[free] = direction.parts
            others.append(replace(direction, parts=parts))
    return (*algebra, *others)


def _fitted(
    end: _End,
    i: int,
    *,
    ends: tuple[Array, Array] | None,
    directions: Sequence[Direction],
    precision: Array,
) -> FittedParameter:
    """One parameter with its interval, and what determines it."""
    parameter = end.model.parameters[i]
    factor = float(parameter.factor(np.asarray(end.coordinates[i])))
    is_weak = any(abs(direction.parts[i]) > SMALL_PART for direction in directions)
    lower = upper = np.nan
    has_ends = (not is_weak, not is_weak)
    if ends is not None:
        lower, upper, has_ends = _interval(parameter, factor, ends[0][i], ends[1][i])
    determined = {
        (False, False): "not",
        (False, True): "only from above",
        (True, False): "only from below",
        (True, True): _known_from(parameter, i, precision),
    }[has_ends]
    if end.at_bound[i]:
        determined = LARGEST
    return FittedParameter(
        name=parameter.name,
        dimension=parameter.amount.dimension,
        is_of_machine=parameter.is_of_machine,
        described=parameter.amount.text,
        scale=parameter.value,
        factor=factor,
        lower=lower,
        upper=upper,
        determined=determined,
        columns=_columns(end, i),
    )


def _columns(end: _End, i: int) -> tuple[str, ...]:
    """Columns that say something of a parameter, the one that says most first."""
    columns = end.task.columns
    bounds = np.cumsum([len(x.rows) for x in columns])[:-1]
    squares = end.rows[: len(end.task.measured), i] ** 2
    said = np.array([x.sum() for x in np.split(squares, bounds)])
    order = np.argsort(-said, kind="stable")
    return tuple(names_of([columns[k] for k in order if said[k] > SAYS * said.sum()]))


def _interval(
    parameter: Parameter, factor: float, low: float, high: float
) -> tuple[float, float, tuple[bool, bool]]:
    """Ends of the interval as factors, and whether they say anything.

    Ends far away are none; a level of contention ends at 1 whatever the runs say.
    """
    lower, upper = low if low > 0 else 0.0, high
    if parameter.is_rate:
        lower, upper = 1.0 / upper, 1.0 / lower if lower > 0 else np.inf
    says = (factor / WIDE < lower, upper < factor * WIDE)
    lower = lower if lower > min(factor, 1.0) / FAR else 0.0
    upper = upper if upper < max(factor, 1.0) * FAR else np.inf
    if parameter.name.endswith(".contention"):
        upper = min(upper, parameter.upper)
    return float(lower), float(upper), says


def _known_from(parameter: Parameter, i: int, precision: Array) -> str:
    """Whether a parameter is known from the runs, from its +-, or from both."""
    if not np.isfinite(parameter.sigma):
        return "runs"
    now = np.sqrt(np.linalg.pinv(precision, hermitian=True)[i, i])
    return "+- alone" if now > SAYS_LITTLE * parameter.sigma else "runs and +-"


def _one_sided(
    fitted: Sequence[FittedParameter],
    directions: Sequence[Direction],
    precision: Array,
    relative: Array,
) -> Iterator[Direction]:
    """Parameters that no weak direction names and that the runs still leave open."""
    named = {name for direction in directions for name in direction.names}
    for i, x in enumerate(fitted):
        if not x.is_determined and x.determined != LARGEST and x.name not in named:
            traded = trade_off(i, precision, relative, [x.name for x in fitted])
            named |= set(traded.names)
            yield traded


def _why(direction: Direction, model: Model) -> str:
    """Say what all runs have in common that leaves a direction open, where it is plain."""
    tables = {name.rpartition(".")[0].rpartition(".")[2] for name in direction.names}
    disks = model.points["d"]
    if tables == {"io"} and np.ptp(disks) == 0:
        return f"because all runs have d = {disks[0]:g}"
    serial = any(name.endswith("compute.serial") for name in direction.names)
    if len(direction.names) == 2 and serial and "communication" in tables:
        amounts = model.program.parameters().items()
        groups = [x(model.points) for name, x in amounts if name.endswith("communication.group")]
        if all(np.all(group == 1) for group in groups):
            return "because all runs have c = 1"
    return ""


def _warnings(
    fitted: Sequence[FittedParameter], noise: Noise, *, holds_scale: bool, has_converged: bool
) -> Iterator[str]:
    """Say what the reader must know."""
    if not has_converged:
        yield RankedWarning(
            "The fit has not converged, so its values may not be the best ones. Use more starts "
            f"({Argument('starts')}), or fix some parameters ({Argument('fixed')}).",
            rank=Rank.SERIOUS,
        )
    if noise.level > POOR:
        yield RankedWarning(
            f"The law deviates from these runs by {in_percent(noise.level)}%. Check that it is "
            "the right law for this program, and the values that are fixed or written with +-.",
            rank=Rank.SERIOUS,
        )
    if noise.from_runs < FEW_FREEDOM and noise.level <= POOR:
        yield (
            "There are too few runs to estimate how much they scatter about the law: "
            f"{in_percent(noise.level)}% is assumed. Measure more runs."
        )
    yield from _at_bounds(fitted)
    if holds_scale:
        yield (
            "Speedups do not determine the scale of times: the time on one processor and one "
            "disk is kept as described. Fit measured times if it is uncertain."
        )


def _at_bounds(fitted: Sequence[FittedParameter]) -> Iterator[str]:
    """Name the parameters at a bound: those too small to be seen, too fast, and at the largest."""
    at_bound = [x for x in fitted if x.determined == LARGEST]
    small = [_limited(x, x.upper, "at most") for x in at_bound if x.factor < 1.0]
    rates = [x for x in at_bound if x.factor >= 1.0 and x.dimension in RATES]
    fast = [_limited(x, x.lower, "at least") for x in rates]
    for names, what in ((small, "0 for {}: too small"), (fast, "no limit for {}: too fast")):
        if names:
            yield (
                f"The runs fit best with {what.format(', '.join(names))} to be seen in these "
                "runs. Described values are kept as far as the runs allow. If you know better, "
                f"fix the value ({Argument('fixed')}) or write it with +-."
            )
    if large := [x.name for x in at_bound if x.factor >= 1.0 and x not in rates]:
        yield (
            f"The runs fit best with the largest value allowed for {', '.join(large)}. If you "
            f"know better, fix the value ({Argument('fixed')}) or write it with +-."
        )


def _limited(x: FittedParameter, end: float, which: str) -> str:
    """Name a parameter, with the end of its interval where it is a value."""
    if x.scale is None or not 0 < end < np.inf:
        return x.name
    return f"{x.name} ({which} {format_quantity(end * x.scale, x.dimension)})"
