"""Programs: a sequence of phases, each a timing law repeated a number of times.

A law joins with one line here, as does one of the I/O of a phase; those of other packages join
with an entry point of `GROUP`.

A phase names its law, and the law, a class derived from `Phase`, defines the other keys. The laws
are listed in `parcast.descriptions.program`.
"""

import difflib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cache
from inspect import isabstract
from typing import Annotated, Any, ClassVar, Final, TypeAlias, get_args

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from parcast.aliases import Array
from parcast.descriptions.amount import PLACEHOLDER, Amount, Point
from parcast.descriptions.breakdown import Breakdown, fault_of, slopes_by_differences
from parcast.descriptions.description import (
    Description,
    DescriptionError,
    Of,
    amount_of,
    parameter,
    require_other_labels,
    tables,
)
from parcast.descriptions.fit_record import FitRecord, OwnLawError
from parcast.descriptions.machine import Machine
from parcast.errors import ParameterError, Problem
from parcast.places import PluginFaultError, load, plugins
from parcast.show.warning import Rank, RankedWarning
from parcast.units import shown
from parcast.words import listed

LAWS: Final = {
    "spmd": "parcast.laws.spmd.law:SpmdPhase",
    "regions": "parcast.laws.regions:RegionsPhase",
    "merge_sort": "parcast.laws.sorters:MergeSortPhase",
    "sort": "parcast.laws.sorters:SortPhase",
    "square_sort": "parcast.laws.sorters:SquareSortPhase",
    "sample_sort": "parcast.laws.sorters:SampleSortPhase",
    "fractal": "parcast.laws.independent_inputs:FractalPhase",
    "monte_carlo": "parcast.laws.independent_inputs:MonteCarloPhase",
    "matmul": "parcast.laws.matrices:MatmulPhase",
    "gauss": "parcast.laws.matrices:GaussPhase",
    "stencil": "parcast.laws.stencil:StencilPhase",
    "counted": "parcast.laws.counted:CountedPhase",
    "gustafson": "parcast.laws.curve_phases:GustafsonPhase",
    "amdahl": "parcast.laws.curve_phases:AmdahlPhase",
    "logarithmic": "parcast.laws.curve_phases:LogarithmicPhase",
    "linear": "parcast.laws.curve_phases:LinearPhase",
    "usl": "parcast.laws.curve_phases:UslPhase",
    "quadratic": "parcast.laws.curve_phases:QuadraticPhase",
    "power": "parcast.laws.curve_phases:PowerPhase",
    "pipeline": "parcast.pipeline.law.phase:PipelinePhase",
}
GROUP: Final = "parcast.laws"

IO_LAWS: Final = {"array_io": "parcast.arrays.law.phase:ArrayIO"}  # of the I/O of an spmd phase
Slopes: TypeAlias = dict[str, Array]  # derivatives of a time by logarithms of amounts [s]
LAW_KEY: Final[Any] = Field(description="Timing law of the phase.")


class Phase(Description):
    """A timing law with its parameters and its number of repetitions.

    A law is a class derived from this one: its fields are its parameters, each declared once with
    its unit, domain, default and meaning, and `cycle` is its formula.
    """

    law: str = LAW_KEY
    name: str = Field(default="", description="What to call it.")
    cycles: Annotated[Amount, Of("count")] = parameter("1", "How often it is repeated.")

    source: ClassVar[str] = ""  # where the law comes from
    is_compact: ClassVar[bool | None] = None  # search-space compact; None: not known
    knows_nodes: ClassVar[bool] = False  # whether it heeds what the processors of a node share
    simulator: ClassVar[str] = ""  # place of the class that simulates it; "": it cannot be
    fitted: ClassVar[tuple[str, ...]] = ()  # parameters that `fit` changes, beside those of tables
    resources: ClassVar[Mapping[str, str]] = {}  # of own times: {"task": "compute"}

    @property
    def source_of_law(self) -> str:
        """The law and where it comes from."""
        return f"{self.law}: {self.source}" if self.source else ""

    def values(self, at: Point, limits: Point | None = None) -> dict[str, Any]:
        """Values of the law's own parameters at every point of a grid, by the names of its fields.

        What laws have in common is left out: cycles, and what its family has. Amounts are arrays
        within their domain; other parameters, and amounts that are not given, are as they are.
        `limits` are the axes as domains mean them, where they are not those of the grid.
        """
        values = {key: getattr(self, key) for key in own_parameters(type(self))}
        for key, mark in own_parameters(type(self)).items():
            if mark and values[key] is not None:
                values[key] = mark.within(values[key].name, values[key](at), limits or at)
        return values

    @abstractmethod
    def cycle(self, machine: Machine, at: Point) -> Breakdown:
        """Time of one cycle at every point of a grid [s]."""

    def times(self, machine: Machine, at: Point) -> Breakdown:
        """Time of all cycles at every point of a grid, of the shape of what it depends on [s].

        `at` has "p" processors and optionally "d" disks and "n" problem size, which broadcast; an
        entry with the name of a parameter ("network.bandwidth") replaces its value [SI].
        """
        with np.errstate(over="ignore", invalid="ignore"):  # refused where it is asked for
            return self._own_cycle(machine, at) * self.cycles(at)

    def _own_cycle(self, machine: Machine, at: Point) -> Breakdown:
        """Time of one cycle; what the law of a plugin gives in its place is refused."""
        cycle = self.cycle(machine, at)
        law = type(self)
        if law.__module__.startswith("parcast."):
            return cycle
        if fault := fault_of(cycle, np.broadcast_shapes(*map(np.shape, at.values()))):
            must = "its law must give times of at least 0 at every point of the grid"
            raise PluginFaultError(f"{must}, got {fault}", of=law.__module__, name=self.law)
        return cycle

    def work(self, machine: Machine, at: Point) -> Array | None:  # noqa: ARG002 - for derived laws
        """Work of all cycles that processors share, on one of them, or None. [s].

        Where it grows with p, scaling is weak, and speedup is that of the work.
        """
        return None

    @property
    def alone(self) -> "Phase":
        """The phase whose time on one processor and one disk speedups are over."""
        return self

    def slopes(self, machine: Machine, at: Point) -> tuple[Array, Slopes] | None:  # noqa: ARG002 - for derived laws
        """Time of all cycles and its derivatives by the logarithms of its amounts [s].

        By the names of the amounts, those of the machine included. Those that the law does not
        know, all of them if it gives None, are taken by differences.
        """
        return None

    def place(self, name: str) -> tuple[str | int, ...]:
        """Say where an amount stands among the keys: ("compute", "parallel")."""
        return tuple(name.split("."))

    @property
    def fits(self) -> tuple[str, ...]:
        """Names of its amounts that `fit` changes, beside those of tables."""
        return self.fitted

    def resource_slopes(self, machine: Machine, at: Point) -> Breakdown:
        """Derivatives of the time of all cycles by the logarithms of the service times [s].

        Of those of each resource: `compute`, `communication` and `io`, which add up to the time.
        Over the time they are elasticities, see `parcast.descriptions.breakdown`.
        """
        own = (amount for name, amount in self.amounts() if name in self.resources)
        return slopes_by_differences(
            lambda point: self.times(machine, point),
            at,
            [*machine.parameters().values(), *own],
            self.resources,
        )

    def half_width(self, machine: Machine, at: Point) -> Array | None:  # noqa: ARG002 - for derived laws
        """Half-width of the 90% interval of log time from the error of the law [1].

        None if it does not depend on what takes the time: see `parcast.laws.allowances`.
        """
        return None

    @property
    def dearness(self) -> int:
        """How many points of a simple law, of half a microsecond, take as long as one [1]."""
        return 1

    @property
    def variant(self) -> str:
        """Variant of the law whose error may be known by itself; empty where it has none."""
        return ""

    @property
    def laws_within(self) -> tuple[str, ...]:
        """Names of the law and of those that it asks, all of which may be wrong."""
        return (self.law,)

    @property
    def priced(self) -> frozenset[str]:
        """Names of its amounts that `fit` changes only if they are named."""
        return frozenset()

    def warnings(self, machine: Machine) -> Iterator[str]:  # noqa: ARG002 - for derived laws
        """Give what a reader of the law's times must know, in sentences."""
        yield from ()

    def warnings_at(self, machine: Machine, at: Point) -> Iterator[str]:  # noqa: ARG002 - for derived laws
        """Give what a reader of the law's times at some points of a grid must know."""
        yield from ()


MEASURED_ON: Final = "Machine on which the times of computing were measured, by its name."


def measured_elsewhere(measured_on: str, machine: Machine, remedy: str) -> Iterator[str]:
    """Say that times of computing are of another machine than the one described, by its name."""
    if measured_on and machine.name not in (measured_on, Machine.model_fields["name"].default):
        yield RankedWarning(
            f"The times of computing were measured on {shown(measured_on)} and are used unchanged "
            f"for {shown(machine.name)}. If these are two machines, {remedy}; if they are one, "
            f"write its name at measured_on in the program.",
            rank=Rank.SERIOUS,
        )


def phase_of(given: Any) -> Phase:
    """Build a phase of the class that the key "law" of a mapping names."""
    if isinstance(given, Phase):
        return given
    if not isinstance(given, Mapping) or "law" not in given:
        raise DescriptionError(
            "Phase", [Problem(message='must be given. Add law = "spmd".', field="law")]
        )
    return law_named(given["law"])(**given)


def law_named(law: object) -> type[Phase]:
    """Class of the phases that a law describes, or a refusal with the nearest law there is."""
    if isinstance(law, str) and law in LAWS:
        return _built_in(law)
    others = laws_of_plugins()
    if not isinstance(law, str) or law not in others:
        known = sorted(LAWS | others)
        near = difflib.get_close_matches(str(law).casefold(), known, n=1, cutoff=0.6)
        hint = f'Did you mean "{near[0]}"?' if near else f"Known laws: {', '.join(known)}."
        message = f"must be the name of a law, got {shown(repr(law))}. {hint}"
        raise DescriptionError("Phase", [Problem(message=message, field="law")])
    return others[law]


def laws() -> dict[str, type[Phase]]:
    """All laws there are by their names, those that come with parcast first."""
    return {law: _built_in(law) for law in LAWS} | laws_of_plugins()


def laws_of_plugins() -> dict[str, type[Phase]]:
    """Laws of other packages by their names; broken ones are ignored with a warning."""

    def is_law(name: str, kind: object) -> bool:
        if not isinstance(kind, type) or not issubclass(kind, Phase) or isabstract(kind):
            return False
        return name in get_args(kind.model_fields["law"].annotation)

    what = "a class derived from Phase with a cycle, whose law is a literal of its name"
    return plugins(GROUP, taken=LAWS, is_one=is_law, what=what)


def _built_in(law: str) -> type[Phase]:
    kind: type[Phase] = load(LAWS[law])
    return kind


@cache
def own_parameters(law: type[Phase]) -> dict[str, Of | None]:
    """Fields of a law that its family has not, and what marks those that are amounts."""
    families = [base for base in law.__mro__[1:] if isabstract(base) and issubclass(base, Phase)]
    common = {key for family in families for key in family.model_fields}
    return {key: amount_of(x) for key, x in law.model_fields.items() if key not in common}


_AnyPhase: TypeAlias = Annotated[Phase, BeforeValidator(phase_of)]


class Program(Description):
    """A parallel program.

    Examples
    --------
    >>> btio = Program(
    ...     name="BTIO, class A",
    ...     phase=[{"law": "spmd", "cycles": 40, "compute": {"parallel": "6.9 s"}}],
    ... )
    >>> btio.times(Machine(), {"p": [1.0, 2.0]}).compute
    array([276., 138.])
    """

    name: str = Field(default="a program", description="Name of the program.")
    source: str = Field(default="", description="Source of the figures.")
    phase: Annotated[tuple[_AnyPhase, ...], tables("phase", "[[phase]]")] = Field(
        description="Phases, in order of execution."
    )
    law_error: Annotated[tuple[OwnLawError, ...], tables("law_error", "[[law_error]]")] = Field(
        default=(),
        description="How wrong its laws were, compared with its runs; `parcast fit` and "
        "`parcast validate` write it.",
    )
    fit: FitRecord | None = Field(
        default=None, description="The fit that wrote the constants; `parcast fit` writes it."
    )

    @model_validator(mode="after")
    def _labels_differ(self) -> "Program":
        labels = [self.label(i) for i in range(len(self.phase))]
        require_other_labels(labels, "phase")
        return self

    @model_validator(mode="after")
    def _law_errors_are_of_its_laws(self) -> "Program":
        laws = [law for phase in self.phase for law in phase.laws_within]
        for i, x in enumerate(self.law_error):
            same = (x.law, x.platform) in ((y.law, y.platform) for y in self.law_error[:i])
            if x.law not in laws or same:
                raise ParameterError(
                    "law_error",
                    must="be of one of its laws, and each on a kind of platform once",
                    got=f'"{shown(x.law)}" on {x.platform}{" twice" if same else ""}',
                    hint=f"Its laws are {listed(list(dict.fromkeys(laws)))}. Delete that table.",
                )
        return self

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Give the JSON Schema of a program's file: a phase is one of those that laws describe."""
        schema = super().model_json_schema(*args, **kwargs)
        definitions = schema["$defs"]
        definitions.pop("Phase")
        known = laws().values()
        for kind in known:
            of_law = kind.model_json_schema(*args, **kwargs)
            definitions |= of_law.pop("$defs", {})
            definitions[of_law["title"]] = of_law
        items = {"anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in known]}
        schema["properties"]["phase"] |= {"items": items, "minItems": 1}
        return schema

    def times(self, machine: Machine, at: Point) -> Breakdown:
        """Time of all phases, one after the other; as `Phase.times`."""
        first, *others = (
            phase.times(machine, self.at_phase(i, at)) for i, phase in enumerate(self.phase)
        )
        return sum(others, start=first)

    def resource_slopes(self, machine: Machine, at: Point) -> Breakdown:
        """Derivatives of the time of all phases; as `Phase.resource_slopes`."""
        first, *others = (
            phase.resource_slopes(machine, self.at_phase(i, at))
            for i, phase in enumerate(self.phase)
        )
        return sum(others, start=first)

    @property
    def alone(self) -> "Program":
        """The program whose time on one processor and one disk speedups are over."""
        return self.model_copy(update={"phase": tuple(phase.alone for phase in self.phase)})

    @property
    def dearness(self) -> int:
        """How many points of a simple law take as long as one of all its phases [1]."""
        return sum(phase.dearness for phase in self.phase)

    @property
    def law(self) -> str:
        """Laws of its phases, each once: "spmd, then regions"."""
        return ", then ".join(dict.fromkeys(phase.law for phase in self.phase))

    @property
    def sources_of_law(self) -> tuple[str, ...]:
        """Where these laws come from."""
        return tuple(dict.fromkeys(phase.source_of_law for phase in self.phase))

    def parameters(self) -> dict[str, Amount]:
        """Every amount that is given, by the name under which a point replaces it."""
        return {
            self._named(i, name): amount
            for i, phase in enumerate(self.phase)
            for name, amount in phase.amounts()
        }

    def fitted(self) -> frozenset[str]:
        """Names of the parameters that laws themselves name to be fitted."""
        return frozenset(self._named(i, key) for i, x in enumerate(self.phase) for key in x.fits)

    def priced(self) -> frozenset[str]:
        """Names of the amounts that are fitted only if they are named."""
        return frozenset(self._named(i, key) for i, x in enumerate(self.phase) for key in x.priced)

    def bounds(self) -> dict[str, float]:
        """Largest values of the parameters that have one, by their names [SI]."""
        return {
            self._named(i, key): float(mark.most)
            for i, phase in enumerate(self.phase)
            for key, mark in own_parameters(type(phase)).items()
            if mark and isinstance(mark.most, float)
        }

    def work(self, machine: Machine, at: Point) -> Array | None:
        """Work that processors share, of all phases; None if a law has none [s]."""
        works = [phase.work(machine, self.at_phase(i, at)) for i, phase in enumerate(self.phase)]
        known = [work for work in works if work is not None]
        return sum(known[1:], start=known[0]) if known and len(known) == len(works) else None

    def place(self, name: str) -> tuple[str | int, ...]:
        """Say where a parameter stands among the keys: ("phase", 0, "compute", "parallel")."""
        for i, phase in enumerate(self.phase):
            for inner, _ in phase.amounts():
                if name == self._named(i, inner):
                    return "phase", i, *phase.place(inner)
        raise KeyError(name)

    def label(self, i: int) -> str:
        """What parameters of a phase begin with: its name, or "phase 2"; "" for the only one."""
        if len(self.phase) == 1:
            return ""
        return self.phase[i].name or f"phase {i + 1}"

    def _named(self, i: int, name: str) -> str:
        """Name of a parameter of a phase among those of the program."""
        label = self.label(i)
        return f"{label}.{name}" if label else name

    def at_phase(self, i: int, at: Point) -> Point:
        """Point as a phase sees it: parameters of this phase under their own names alone."""
        label = self.label(i)
        if not label:
            return at
        names = {name for name, _ in self.phase[i].amounts()}
        own = {key.removeprefix(f"{label}."): key for key in at if key.startswith(f"{label}.")}
        own = {name: key for name, key in own.items() if name.removesuffix("*") in names}
        return {**at, **{key: at[long] for key, long in own.items()}}


def doubts_of(*described: Program | Machine) -> Iterator[str]:
    """Say what is to be doubted of every answer from some descriptions, each once."""
    yield from placeholders_of(*described)
    yield from dict.fromkeys(text for x in described if x.fit for text in x.fit.warnings())


def placeholders_of(*described: Program | Machine) -> Iterator[str]:
    """Name the values of some descriptions that are to be replaced."""
    names = [name for x in described for name in x.placeholders()]
    if all(len(x.phase) == 1 for x in described if isinstance(x, Program)):
        names = [name.removeprefix("phase 1.") for name in names]
    if names:
        yield RankedWarning(
            f"Values marked {PLACEHOLDER} are placeholders: {listed(names)}. Replace them.",
            kind="placeholders",
            rank=Rank.VERDICT,
        )
